// SPDX-License-Identifier: Apache-2.0
// Development server: bundles the page at every load and forwards everything else to a running
// `loci serve`.
// Usage: node dev.mjs [--server http://127.0.0.1:8080] [--port 8090]
import { readFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import { join } from "node:path";
import { parseArgs } from "node:util";

import * as esbuild from "esbuild";

import { bundleOptions, copyStatic, typeOf } from "./build.mjs";

const { values } = parseArgs({
  options: {
    server: { type: "string", default: "http://127.0.0.1:8080" },
    port: { type: "string", default: "8090" },
  },
});
const target = new URL(values.server);
const outdir = join(import.meta.dirname, "../build/web-dev");
const context = await esbuild.context(bundleOptions(outdir, { minify: false }));

// The server accepts requests from its own origin only.
function passedOn({ method, url, headers }) {
  const { origin, ...rest } = headers;
  return {
    host: target.hostname,
    port: target.port,
    method,
    path: url,
    headers: { ...rest, host: target.host, ...(origin ? { origin: target.origin } : {}) },
  };
}

const server = createServer(async (incoming, answer) => {
  const path = new URL(incoming.url, "http://x").pathname;
  const name = path === "/" ? "index.html" : path.slice(1);
  if (!name.includes("/")) {
    try {
      if (name === "index.html") {
        await copyStatic(outdir);
        await context.rebuild();
      }
      const bytes = await readFile(join(outdir, name));
      answer.writeHead(200, { "Content-Type": typeOf(name), "Cache-Control": "no-store" });
      answer.end(bytes);
      return;
    } catch (error) {
      if (error.code !== "ENOENT") {
        answer.writeHead(500, { "Content-Type": "text/plain" });
        answer.end(String(error));
        return;
      }
    }
  }
  const outgoing = request(passedOn(incoming), (reply) => {
    answer.writeHead(reply.statusCode, reply.headers);
    reply.pipe(answer);
  });
  outgoing.on("error", (error) => {
    answer.writeHead(502, { "Content-Type": "text/plain" });
    answer.end(`${target.origin}: ${error.message}`);
  });
  incoming.pipe(outgoing);
});

server.on("upgrade", (incoming, socket) => {
  const outgoing = request(passedOn(incoming));
  outgoing.on("upgrade", (reply, far, head) => {
    const lines = Object.entries(reply.headers).map(([key, value]) => `${key}: ${value}`);
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("\r\n")}\r\n\r\n`);
    socket.write(head);
    far.pipe(socket).pipe(far);
    far.on("error", () => socket.destroy());
    socket.on("error", () => far.destroy());
  });
  outgoing.on("response", () => socket.destroy());
  outgoing.on("error", () => socket.destroy());
  outgoing.end();
});

server.listen(Number(values.port), "127.0.0.1", () =>
  console.log(`http://127.0.0.1:${values.port}/ in front of ${target.origin}`),
);
