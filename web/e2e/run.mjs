// SPDX-License-Identifier: Apache-2.0
// Tests of the page in Chromium against a real server. They start `loci serve` with the model they are
// given on a free port and a data folder of their own.
// Usage: node e2e/run.mjs --loci PROGRAM --model FOLDER --twin FOLDER [--shots FOLDER] [--only TEXT]
//   --twin is a model with the same autoencoder to compare with
//   --shots keeps pictures of the screens; exit code 77: skipped, because something is not installed
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
  console.error(`e2e: --${name} ${values[name] ?? ""} is not there`);
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
