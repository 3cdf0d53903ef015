// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { decode, encode } from "@msgpack/msgpack";

import { decodeMessage, encodeMessage, splitFrames } from "../src/net/codec.js";
import { Connection, retryDelay, type Link, type Socket } from "../src/net/connection.js";
import type { FrameBatchMessage, ServerMessage } from "../src/net/protocol.js";
import { walkUrl } from "../src/net/api.js";

class FakeSocket implements Socket {
  binaryType = "";
  readyState = 0;
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  sent: Record<string, unknown>[] = [];
  closed: number | undefined;

  send(data: Uint8Array): void {
    this.sent.push(decode(data) as Record<string, unknown>);
  }
  close(code?: number): void {
    this.closed = code;
    this.readyState = 3;
  }
  open(): void {
    this.readyState = 1;
    this.onopen?.();
  }
  say(message: object): void {
    const bytes = encode(message);
    this.onmessage?.({
      data: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength),
    });
  }
  die(code: number): void {
    this.readyState = 3;
    this.onclose?.({ code });
  }
}

function setUp() {
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: 1000 });
  const sockets: FakeSocket[] = [];
  const links: Link[] = [];
  const messages: ServerMessage[] = [];
  let greetings = 0;
  const connection = new Connection({
    open: () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket;
    },
    greet: () => ({ type: "init", number: ++greetings }),
    onMessage: (message) => messages.push(message),
    onLink: (link) => links.push(link),
    random: () => 0.5,
  });
  return { connection, sockets, links, messages, done: () => mock.timers.reset() };
}

test("messages survive encoding and decoding", () => {
  const bytes = encodeMessage({
    type: "event",
    payload: undefined,
    first_frame: new Uint8Array([1, 2]),
  });
  assert.deepEqual(decode(bytes), { type: "event", first_frame: new Uint8Array([1, 2]) });
  assert.deepEqual(decodeMessage('{"type":"pong"}'), { type: "pong" });
  for (const bad of ["", "[]", "null", '{"type":3}', "{"])
    assert.equal(decodeMessage(bad), null, bad);
  assert.equal(decodeMessage(new Uint8Array([0xc1]).buffer), null);
});

test("a batch is split into frames; wrong lengths are ignored", () => {
  const batch = { payload: new Uint8Array([1, 2, 3, 4, 5]), payload_lengths: [2, 3] } as FrameBatchMessage;
  assert.deepEqual(
    splitFrames(batch).map((frame) => [...frame]),
    [
      [1, 2],
      [3, 4, 5],
    ],
  );
  assert.equal(splitFrames({ ...batch, payload_lengths: [2, 4] }).length, 1);
  assert.equal(splitFrames({ ...batch, payload_lengths: [-1] }).length, 0);
});

test("sends the first message on every connection", () => {
  const { connection, sockets, links, messages, done } = setUp();
  connection.start();
  assert.equal(connection.send({ type: "ping" }), false, "not yet");
  sockets[0]?.open();
  assert.deepEqual(sockets[0]?.sent, [{ type: "init", number: 1 }]);
  sockets[0]?.say({ type: "session", world: "w" });
  assert.equal(messages.length, 1);
  sockets[0]?.die(1006);
  assert.deepEqual(links.at(-1), { state: "lost", attempt: 1, retryAt: 1500 });
  mock.timers.tick(499);
  assert.equal(sockets.length, 1);
  mock.timers.tick(1);
  assert.equal(sockets.length, 2);
  sockets[1]?.open();
  assert.deepEqual(sockets[1]?.sent, [{ type: "init", number: 2 }]);
  connection.stop();
  done();
});

test("doubles the delay up to ten seconds until a session opens", () => {
  const { connection, sockets, links, done } = setUp();
  connection.start();
  const waits: number[] = [];
  for (let i = 0; i < 7; i++) {
    sockets.at(-1)?.open(); // opening without a session does not reset the delay
    sockets.at(-1)?.die(1011);
    const link = links.at(-1);
    assert.equal(link?.state, "lost");
    const wait = link?.state === "lost" ? link.retryAt - Date.now() : NaN;
    waits.push(wait);
    mock.timers.tick(wait);
  }
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, 10000, 10000]);
  assert.ok(retryDelay(1, 0) < retryDelay(1, 1), "spread out");
  connection.stop();
  done();
});

test("does not reconnect after a final close code", () => {
  for (const code of [4001, 1008, 1009, 1000]) {
    const { connection, sockets, links, done } = setUp();
    connection.start();
    sockets[0]?.open();
    sockets[0]?.die(code);
    assert.deepEqual(links.at(-1), { state: "ended", code });
    mock.timers.tick(60000);
    assert.equal(sockets.length, 1);
    done();
  }
});

test("reconnects after silence, but not while messages arrive", () => {
  const { connection, sockets, links, done } = setUp();
  connection.start();
  sockets[0]?.open();
  mock.timers.tick(24000);
  assert.equal(sockets[0]?.sent.filter(({ type }) => type === "ping").length, 3);
  sockets[0]?.say({ type: "pong" });
  mock.timers.tick(24000);
  assert.equal(links.at(-1)?.state, "open");
  mock.timers.tick(16000);
  assert.equal(links.at(-1)?.state, "lost");
  assert.equal(sockets[0]?.closed, 4000);
  connection.stop();
  done();
});

test("stop closes the socket and ignores its late events", () => {
  const { connection, sockets, messages, done } = setUp();
  connection.start();
  const first = sockets[0];
  first?.open();
  const hear = first?.onmessage;
  connection.start();
  assert.equal(first?.closed, 1000);
  assert.equal(first?.onmessage, null);
  assert.ok(hear);
  assert.equal(messages.length, 0);
  connection.stop();
  mock.timers.tick(60000);
  assert.equal(sockets.length, 2);
  done();
});

test("connects to the page's own server, encrypted if the page is", () => {
  assert.equal(
    walkUrl({ protocol: "https:", host: "a:1" }),
    "wss://a:1/v1/realtime_video/generate",
  );
  assert.equal(walkUrl({ protocol: "http:", host: "b" }), "ws://b/v1/realtime_video/generate");
});
