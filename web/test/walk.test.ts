// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";

import { decode } from "@msgpack/msgpack";

import type { Socket } from "../src/net/connection.js";
import type {
  ChunkStatsMessage,
  Model,
  SessionMessage,
  ServerMessage,
  World,
} from "../src/net/protocol.js";
import { countRoles } from "../src/session/retained.js";
import { Walk, type WalkEvents } from "../src/session/walk.js";
import { memoryNames } from "../src/ui/names.js";
import { isTouring, veilOf } from "../src/ui/stage.js";
import { secondFor } from "../src/ui/start.js";
import { statusOf } from "../src/ui/topbar.js";

const session = (world: string, more: Partial<SessionMessage> = {}): SessionMessage => ({
  type: "session",
  protocol: 1,
  world,
  name: "",
  resumed: false,
  next_chunk: 1,
  latents: 1,
  pose: [0, 0, 0, 1, 0, 0, 0],
  prompt: "a town",
  seed: "42",
  size: [192, 128],
  fps: 16,
  chunk_latents: 5,
  frames_per_latent: 4,
  fov: 90,
  camera: { move: 1, turn: 30, pitch_limit: 60 },
  views: [
    {
      model: "m",
      history: "sparse",
      history_frames: 29,
      readout: "on",
      steps: 4,
      recurrent: true,
      frame_budget: 29,
    },
  ],
  path: [[0, 0, 0, 1, 0, 0, 0]],
  path_first: 0,
  recording: false,
  limits: { message_bytes: 1 << 23, sessions: 16, idle_seconds: 300 },
  ...more,
});

const stats = (chunk: number, more: Partial<ChunkStatsMessage> = {}): ChunkStatsMessage => ({
  type: "chunk_stats",
  view: 0,
  chunk_index: chunk,
  num_frames: 20,
  first_latent: 1 + 5 * (chunk - 1),
  poses: Array.from({ length: 5 }, (_, i) => [0, 0, 0.25 * (5 * (chunk - 1) + i + 1), 1, 0, 0, 0]),
  event_id: null,
  queue_length: 0,
  dropped_frames: 0,
  memory_bytes: 1 << 20,
  retained: [{ frame: 0, kind: "sink", pose: [0, 0, 0, 1, 0, 0, 0], seen: true }],
  retained_total: 1,
  revisited: null,
  panorama: { share: 0, mask: new Uint8Array(512) },
  retention: 0.7,
  state_norm: 3,
  state_norms: [3],
  process_bytes: 1 << 30,
  given: false,
  replayed: false,
  ...more,
});

class Line {
  sockets: (Socket & { sent: Record<string, unknown>[] })[] = [];
  log: string[] = [];
  walk: Walk;

  constructor() {
    const note =
      (name: string) =>
      (...values: unknown[]): void =>
        void this.log.push(
          [name, ...values.filter((value) => typeof value !== "object")].join(" "),
        );
    const events: WalkEvents = {
      onFrames: note("frames"),
      onThumbnails: note("thumbnails"),
      onStats: note("stats"),
      onSession: (_, common) => note("session")(common),
      onRecorded: note("recorded"),
      onError: note("error"),
    };
    this.walk = new Walk(() => this.#open(), events);
  }

  get last(): Record<string, unknown> {
    return this.sockets.at(-1)?.sent.at(-1) ?? {};
  }

  #open(): Socket {
    const socket = {
      binaryType: "",
      readyState: 1,
      onopen: null,
      onmessage: null,
      onclose: null,
      sent: [] as Record<string, unknown>[],
      send(data: Uint8Array) {
        this.sent.push(decode(data) as Record<string, unknown>);
      },
      close() {
        this.readyState = 3;
      },
    } satisfies Socket & { sent: Record<string, unknown>[] };
    this.sockets.push(socket);
    return socket;
  }

  begin(init: object, ...messages: ServerMessage[]): void {
    this.walk.begin(init);
    this.sockets.at(-1)?.onopen?.();
    for (const message of messages) this.walk.receive(message);
  }
}

test("a walk sends its start; a reconnected walk continues its world", () => {
  const line = new Line();
  line.begin({ start: "town-1", seed: "3" }, { type: "state", state: "starting", queue_length: 0 });
  const greeting: unknown = line.last;
  assert.deepEqual(greeting, {
    type: "init",
    protocol: 1,
    realtime_output_format: "jpeg",
    start: "town-1",
    seed: "3",
  });
  assert.equal(line.walk.store.state.phase, "starting");
  line.walk.receive(session("world_a"));
  assert.equal(line.walk.store.state.phase, "running");
  line.walk.takeBack();
  line.sockets.at(-1)?.onopen?.();
  assert.equal(line.last.world, "world_a");
  assert.equal(line.last.start, undefined);
  line.walk.end();
  assert.equal(line.walk.store.state.phase, "none");
});

test("chunks move the camera and fill the memory", () => {
  const line = new Line();
  line.begin({}, session("world_a"), stats(1), stats(2, { revisited: { frame: 0, overlap: 0.6 } }));
  const { state } = line.walk.store;
  assert.equal(line.walk.path.end, 11);
  assert.ok(Math.abs((state.pose[11] ?? 0) - 2.5) < 1e-9);
  assert.deepEqual(state.memories[0]?.revisited, { frame: 0, overlap: 0.6 });
  assert.equal(state.memories[0]?.retained[0]?.role, "sink");
  line.walk.receive(stats(3, { view: 1 }));
  assert.equal(line.walk.path.end, 11, "statistics of an unknown view are ignored");
  line.walk.end();
});

test("a long list of retained frames is thinned, and all are counted", () => {
  const line = new Line();
  const [view] = session("w").views;
  assert.ok(view);
  const dense = { ...view, history: "dense", frame_budget: 0 };
  const listed = [0, 64, 128, 300, 301].map((frame) => ({
    frame,
    kind: frame === 0 ? ("sink" as const) : frame < 300 ? ("bank" as const) : ("recent" as const),
    pose: [0, 0, frame, 1, 0, 0, 0],
    seen: true,
  }));
  line.begin(
    {},
    session("world_a", { views: [dense] }),
    stats(1, { retained: listed, retained_total: 302 }),
  );
  const [memory] = line.walk.store.state.memories;
  assert.equal(memory?.total, 302);
  assert.deepEqual(countRoles(memory?.retained ?? [], memory?.total ?? 0), {
    sink: 1,
    bank: 299,
    recent: 2,
  });
  line.walk.receive({ type: "state", state: "running", views: [view], queue_length: 0 });
  assert.equal(line.walk.store.state.memories[0]?.info.history, "sparse", "as the server says");
  line.walk.end();
});

test("a second memory opens and closes; the first one keeps its state", async () => {
  const line = new Line();
  const [view] = session("w").views;
  assert.ok(view);
  const softmax = { ...view, model: "softmax", history: "dense", recurrent: false };
  line.begin({}, session("world_a"), stats(1));
  const joined = line.walk.split({ model: "softmax", history: "dense" });
  assert.deepEqual(line.last.second, { model: "softmax", history: "dense" });
  line.walk.receive({
    type: "state",
    state: "starting",
    reason: "split",
    progress: 0.5,
    queue_length: 0,
  });
  assert.equal(veilOf(line.walk.store.state, 0).title, "Opening the second memory");
  line.walk.receive(session("world_a", { views: [view, softmax] }));
  await joined;
  const { memories } = line.walk.store.state;
  assert.deepEqual([memories.length, memories[0]?.total, memories[1]?.total], [2, 1, 0]);
  assert.deepEqual(memoryNames(memories.map(({ info }) => info)), ["m", "softmax"]);
  const refused = line.walk.split(null);
  line.walk.receive({
    type: "error",
    fatal: false,
    code: "bad_request",
    message: "not now",
    request_id: line.last.request_id as number,
  });
  await assert.rejects(refused, /not now/);
  const left = line.walk.split(null);
  line.walk.receive(session("world_a"));
  await left;
  assert.equal(line.walk.store.state.memories.length, 1);
  assert.deepEqual(
    line.log.filter((entry) => entry.startsWith("session")),
    ["session nothing", "session world", "session world"],
  );
  line.walk.follow([[0, 0, 1, 1, 0, 0, 0]]);
  assert.deepEqual(line.last.payload, { mode: "path", poses: [[0, 0, 1, 1, 0, 0, 0]] });
  line.walk.end();
});

test("the second view compares with another model or another policy", () => {
  const model = (id: string, recurrent: boolean) =>
    ({ id, loci: { recurrent, history: "sparse" } }) as unknown as Model;
  const one = [model("loci", true)];
  assert.deepEqual(secondFor(one, { model: "loci", history: "sparse" }), { history: "dense" });
  assert.deepEqual(secondFor(one, { model: "loci", history: "dense" }), { history: "sparse" });
  const twins = [...one, model("early", true), model("softmax", false)];
  assert.deepEqual(secondFor(twins, { model: "loci", history: "sparse" }), {
    model: "softmax",
    history: "dense",
  });
  assert.deepEqual(secondFor(twins, { model: "softmax", history: "dense" }), {
    model: "loci",
    history: "sparse",
  });
});

test("the same world keeps its state, another world does not", () => {
  const line = new Line();
  line.begin({}, session("world_a"), stats(1));
  line.walk.receive(session("world_a", { latents: 6 }));
  assert.equal(line.walk.store.state.memories[0]?.retained.length, 1);
  line.walk.receive(session("world_b"));
  assert.equal(line.walk.store.state.memories[0]?.retained.length, 0);
  assert.deepEqual(
    line.log.filter((entry) => entry.startsWith("session")),
    ["session nothing", "session all", "session nothing"],
  );
  line.walk.end();
});

test("settings are shown at once and reverted when refused", () => {
  const line = new Line();
  line.begin({}, session("world_a"));
  line.walk.switch("history", 0, "dense");
  assert.equal(line.walk.store.state.memories[0]?.info.history, "dense");
  assert.deepEqual(line.last.payload, { history: "dense", view: 0 });
  const refused = line.last.event_id as number;
  line.walk.switch("steps", 0, 8);
  const taken = line.last.event_id as number;
  line.walk.receive({
    type: "receipt",
    event_id: taken,
    kind: "steps",
    status: "applied",
    chunk_index: 2,
  });
  line.walk.receive({
    type: "error",
    fatal: false,
    code: "bad_request",
    message: "too long for that",
    event_id: refused,
  });
  assert.equal(line.walk.store.state.memories[0]?.info.history, "sparse");
  assert.equal(line.walk.store.state.memories[0]?.info.steps, 8);
  const count = line.sockets.at(-1)?.sent.length;
  line.walk.switch("steps", 0, 8);
  assert.equal(line.sockets.at(-1)?.sent.length, count, "an unchanged setting sends no message");
  line.walk.end();
});

test("requests are answered or refused by their id", async () => {
  const line = new Line();
  line.begin({}, session("world_a"));
  const saved = line.walk.save("harbour");
  const first = line.last.request_id as number;
  const refused = line.walk.save("again");
  const second = line.last.request_id as number;
  const world = { id: "world_s", name: "harbour" } as World;
  line.walk.receive({
    type: "error",
    code: "limit",
    message: "no room",
    fatal: false,
    request_id: second,
  });
  line.walk.receive({ type: "saved", world, request_id: first });
  assert.equal((await saved).id, "world_s");
  await assert.rejects(refused, /no room/);

  const forked = line.walk.fork("copy");
  line.walk.receive({
    type: "forked",
    world: { ...world, id: "world_f" },
    switched: true,
    request_id: line.last.request_id as number,
  });
  await forked;
  assert.equal(line.walk.store.state.session?.world, "world_f");

  const lost = line.walk.save("x");
  line.walk.end();
  await assert.rejects(lost, /ended/);
  await assert.rejects(line.walk.save("y"), /No connection/);
});

test("recording of one view or both", () => {
  const line = new Line();
  const views = session("w").views;
  line.begin({}, session("world_a", { views: [...views, ...views] }));
  line.walk.record(true);
  assert.equal(line.last.view, -1);
  assert.equal(line.walk.store.state.recording, "starting");
  line.walk.receive({ type: "recording", request_id: null, state: "started" });
  line.walk.record(false);
  assert.equal(line.last.action, "stop");
  line.walk.receive({
    type: "recording",
    request_id: null,
    state: "saved",
    url: "/v1/videos/v/content",
    seconds: 2.5,
  });
  assert.equal(line.walk.store.state.recording, "off");
  assert.ok(line.log.includes("recorded /v1/videos/v/content 2.5"));
  line.walk.end();
});

test("the overlay shows the state of the walk", () => {
  const line = new Line();
  const veil = () => veilOf(line.walk.store.state, 0);
  line.walk.begin({});
  assert.equal(veil().title, "Connecting");
  line.sockets.at(-1)?.onopen?.();
  line.walk.receive({ type: "state", state: "starting", queue_length: 2 });
  assert.match(veil().text, /2 ahead/);
  line.walk.receive({ type: "state", state: "starting", progress: 0.5, queue_length: 0 });
  assert.match(veil().text, /Replaying/);
  line.walk.receive(session("world_a"));
  assert.equal(veil().kind, "busy", "no picture yet");
  line.walk.receive({ type: "frame_batch" } as ServerMessage);
  assert.equal(veil().kind, "none");
  assert.equal(statusOf(line.walk.store.state, 0, 0).text, "Waiting for the first chunk");
  line.walk.receive(stats(1));
  assert.equal(statusOf(line.walk.store.state, 7.96, 0).text, "Live · 8.0 fps");
  line.walk.receive({ type: "state", state: "paused", reason: "idle", queue_length: 0 });
  assert.deepEqual([veil().kind, statusOf(line.walk.store.state, 0, 0).text], ["paused", "Paused"]);
  line.sockets.at(-1)?.onclose?.({ code: 1006 });
  assert.equal(veil().kind, "lost");
  assert.match(statusOf(line.walk.store.state, 0, Date.now()).text, /Reconnecting in 1 s/);
  line.walk.end();
});

test("a tour ends by itself or with a step", () => {
  const line = new Line();
  line.begin({ start: "town-1", tour_seconds: 15 });
  line.walk.receive(session("world_a"));
  line.walk.receive({ type: "frame_batch" } as ServerMessage);
  line.walk.receive({
    type: "state",
    state: "running",
    reason: "tour",
    progress: 0.25,
    queue_length: 0,
  });
  assert.deepEqual(
    [isTouring(line.walk.store.state), line.walk.store.state.progress],
    [true, 0.25],
  );
  assert.equal(veilOf(line.walk.store.state, 0).kind, "none", "the overlay does not cover the tour");
  line.walk.receive({ type: "state", state: "running", queue_length: 0 });
  assert.equal(isTouring(line.walk.store.state), false);
  line.walk.end();
});

test("a fatal error ends the walk and shows its reason", () => {
  const line = new Line();
  line.begin({ world: "world_x" });
  line.walk.receive({
    type: "error",
    code: "not_found",
    message: "There is no such world.",
    fatal: true,
  });
  const state = line.walk.store.state;
  assert.deepEqual(
    [veilOf(state, 0).kind, veilOf(state, 0).text],
    ["ended", "There is no such world."],
  );
  line.begin({});
  line.sockets.at(-1)?.onclose?.({ code: 4001 });
  assert.match(veilOf(line.walk.store.state, 0).text, /another window/);
  line.walk.end();
});
