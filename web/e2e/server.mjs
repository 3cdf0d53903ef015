// SPDX-License-Identifier: Apache-2.0
// Runs a `loci serve` for the tests, on a free port and with its own data folder.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

async function freePort() {
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

export class Server {
  #process = null;
  #output = "";

  static async create(program, models) {
    const server = new Server();
    server.program = program;
    server.models = models;
    server.data = await mkdtemp(join(tmpdir(), "loci-e2e-"));
    server.port = await freePort();
    server.url = `http://127.0.0.1:${server.port}`;
    return server;
  }

  async start() {
    const options = [
      "serve",
      ...this.models.flatMap((folder) => ["--model", folder]),
      "--port",
      String(this.port),
      "--data",
      this.data,
    ];
    const child = spawn(this.program, options, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, OMP_NUM_THREADS: "1" },
    });
    this.#process = child;
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (text) => (this.#output += text));
    for (let i = 0; i < 600; i++) {
      if (child.exitCode !== null) throw new Error(`loci serve ended: ${this.#output}`);
      const health = await fetch(`${this.url}/v1/models`).catch(() => null);
      if (health?.ok) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error(`loci serve did not get ready: ${this.#output}`);
  }

  /** Ends the server without a regular stop, as a crash would. */
  async kill() {
    const child = this.#process;
    this.#process = null;
    if (!child || child.exitCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
  }

  async remove() {
    await this.kill();
    await rm(this.data, { recursive: true, force: true });
  }
}
