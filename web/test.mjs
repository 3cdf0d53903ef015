// SPDX-License-Identifier: Apache-2.0
// Runs the unit tests: bundles every test/*.test.ts and passes it to the test runner of Node.js.
// Usage: node test.mjs [name part]…
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const wanted = process.argv.slice(2);
const files = (await readdir(join(here, "test")))
  .filter((name) => name.endsWith(".test.ts"))
  .filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
if (files.length === 0) {
  console.error(`test: no file in web/test matches ${wanted.join(", ")}`);
  process.exit(2);
}

const outdir = await mkdtemp(join(tmpdir(), "loci-web-test-"));
try {
  await esbuild.build({
    entryPoints: files.map((name) => join(here, "test", name)),
    outdir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: ["node20"],
    sourcemap: "inline",
    logLevel: "warning",
  });
  const made = (await readdir(outdir)).map((name) => join(outdir, name));
  const run = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...made], {
    stdio: "inherit",
  });
  process.exitCode = run.status ?? 1;
} finally {
  await rm(outdir, { recursive: true, force: true });
}
