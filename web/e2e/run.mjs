// SPDX-License-Identifier: Apache-2.0
// Tests the page in Chromium against a real server: a `loci serve` with the given models, on a free
// port and with its own data folder.
// Usage: node e2e/run.mjs --loci PROGRAM --model FOLDER --twin FOLDER [--shots FOLDER] [--only TEXT]
//   --twin is a second model with the same autoencoder
//   --shots saves screenshots. Exit code 77 means skipped: a tool is not installed
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    loci: { type: "string" },
    model: { type: "string" },
    twin: { type: "string" },
    shots: { type: "string" },
    only: { type: "string" },
  },
});

function skip(reason) {
  console.log(`skipped: ${reason}; run scripts/bootstrap --browser`);
  process.exit(77);
}

const browser = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(
  existsSync,
);
if (!browser) skip("there is no Chromium");
try {
  await import("playwright-core");
} catch {
  skip("playwright-core is not installed");
}
for (const name of ["loci", "model", "twin"]) {
  if (values[name] && existsSync(values[name])) continue;
  console.error(`e2e: --${name} ${values[name] ?? ""} does not exist`);
  process.exit(2);
}

const run = spawnSync(
  process.execPath,
  [
    "--test",
    "--test-reporter=spec",
    ...(values.only ? [`--test-name-pattern=${values.only}`] : []),
    new URL("explorer.e2e.mjs", import.meta.url).pathname,
  ],
  {
    stdio: "inherit",
    env: {
      ...process.env,
      LOCI_E2E_BROWSER: browser,
      LOCI_E2E_PROGRAM: values.loci,
      LOCI_E2E_MODEL: values.model,
      LOCI_E2E_TWIN: values.twin,
      LOCI_E2E_SHOTS: values.shots ?? "",
    },
  },
);
process.exit(run.status ?? 1);
