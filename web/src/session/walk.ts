// SPDX-License-Identifier: Apache-2.0
// A walk: the connection to the server, the state of the walk, and its actions.
import { fromWire, kIdentity, type Pose } from "../core/pose.js";
import { Store } from "../core/store.js";
import type { Transition } from "../input/sender.js";
import { Connection, type Link, type Socket } from "../net/connection.js";
import type {
  ChunkStatsMessage,
  ClientMessage,
  ErrorMessage,
  EventKind,
  EventPayloads,
  FrameBatchMessage,
  InitMessage,
  Second,
  ServerMessage,
  SessionMessage,
  ThumbnailsMessage,
  View,
  WirePose,
  World,
} from "../net/protocol.js";
import { LatencyMeter } from "./latency.js";
import { WalkedPath } from "./path.js";
import { retainedOf, type Retained } from "./retained.js";

/** The fields of an init message that define a new walk. */
export type Init = Omit<InitMessage, "type">;

/** The memory of one view. */
export interface MemoryState {
  info: View;
  retained: Retained[]; // as listed by the server
  total: number; // of retained frames, listed or not
  revisited: { frame: number; overlap: number } | null;
  coverage: number | null; // share of the sphere, 0 to 1
  stats: ChunkStatsMessage | null;
}

export interface WalkState {
  /** "none": the start screen. */
  phase: "none" | "starting" | "running" | "paused";
  reason: string; // of the pause
  progress: number | null; // of starting, 0 to 1
  queue: number; // walks that wait for the engine
  link: Link;
  session: SessionMessage | null;
  name: string;
  prompt: string;
  pose: Pose;
  memories: MemoryState[];
  pictures: boolean; // a frame has arrived
  recording: "off" | "starting" | "on" | "stopping";
  failure: string | null; // why the walk ended
}

/** The common part of a session and the one before: world and views, the world, or nothing. */
export type Common = "all" | "world" | "nothing";

const kNothing: WalkState = {
  phase: "none",
  reason: "",
  progress: null,
  queue: 0,
  link: { state: "idle" },
  session: null,
  name: "",
  prompt: "",
  pose: kIdentity,
  memories: [],
  pictures: false,
  recording: "off",
  failure: null,
};

export interface WalkEvents {
  onFrames: (batch: FrameBatchMessage) => void;
  onThumbnails: (message: ThumbnailsMessage) => void;
  onStats: (stats: ChunkStatsMessage) => void;
  /** A world is ready. `common`: its common part with the session before. */
  onSession: (session: SessionMessage, common: Common) => void;
  onRecorded: (url: string, seconds: number) => void;
  onError: (message: string) => void;
}

type Answer = Extract<ServerMessage, { request_id?: unknown }>;
interface Pending {
  resolve: (answer: Answer) => void;
  reject: (error: Error) => void;
}

export class Walk {
  readonly store = new Store<WalkState>({ ...kNothing });
  readonly path = new WalkedPath();
  readonly latency = new LatencyMeter();
  #events: WalkEvents;
  #connection: Connection;
  #init: Init = {};
  #nextEvent = 1;
  #nextRequest = 1;
  #pending = new Map<number, Pending>();
  #splitting: { id: number; done: () => void } | null = null;
  #switched = new Map<number, { view: number; before: Partial<View> }>();

  constructor(open: () => Socket, events: WalkEvents) {
    this.#events = events;
    this.#connection = new Connection({
      open,
      greet: (): InitMessage => ({
        type: "init",
        protocol: 1,
        realtime_output_format: "jpeg",
        ...this.#greeting(),
      }),
      onMessage: (message) => this.receive(message),
      onLink: (link) => this.#linkChanged(link),
    });
  }

  /** Starts a walk and ends the current one. */
  begin(init: Init): void {
    this.#init = init;
    this.latency.clear();
    this.#switched.clear();
    this.store.set({ ...kNothing, phase: "starting" });
    this.#connection.start();
  }

  /** Returns to the start screen. The server keeps the world. */
  end(): void {
    this.#connection.stop();
    this.#failPending("The walk has ended.");
    this.store.set({ ...kNothing });
  }

  retryNow(): void {
    this.#connection.retryNow();
  }

  /** Opens the world again after another window has opened it. */
  takeBack(): void {
    const world = this.store.state.session?.world;
    if (world) this.begin({ world });
  }

  control(transition: Transition, now: number): void {
    const id = this.event("camera_actions", { mode: "state", transitions: [transition] });
    if (id !== null) this.latency.sent(id, now);
  }

  /** Sends an event. Returns its id, or null without a connection. */
  event<K extends EventKind>(kind: K, payload?: EventPayloads[K]): number | null {
    const id = this.#nextEvent;
    if (!this.#connection.send({ type: "event", kind, payload, event_id: id })) return null;
    this.#nextEvent++;
    return id;
  }

  /** Changes a setting of one view. It is shown at once and reverted if the server refuses it. */
  switch(kind: "history" | "steps" | "readout", view: number, value: string | number): void {
    const info = this.store.state.memories[view]?.info;
    if (!info || info[kind] === value) return;
    const id = this.event(kind, { [kind]: value, view } as unknown as EventPayloads[typeof kind]);
    if (id === null) return;
    this.#switched.set(id, { view, before: { [kind]: info[kind] } });
    this.#patchInfo(view, { [kind]: value });
  }

  save(name: string): Promise<World> {
    return this.#request({ type: "save", name }, "saved").then((answer) => answer.world);
  }

  fork(name: string): Promise<World> {
    return this.#request({ type: "fork", name, switch: true }, "forked").then((answer) => {
      // The copy has the same past: only the id on the page changes.
      const session = this.store.state.session;
      if (session)
        this.store.set({
          session: { ...session, world: answer.world.id },
          name: answer.world.name,
        });
      this.#init = { world: answer.world.id };
      return answer.world;
    });
  }

  /** Opens the second view, which replays the walk, or closes it (null). */
  split(second: Second | null): Promise<void> {
    const id = this.#nextRequest++;
    return new Promise((resolve, reject) => {
      if (!this.#connection.send({ type: "split", second, request_id: id })) {
        reject(new Error("No connection to the server."));
        return;
      }
      // The answer is a session message.
      this.#splitting = { id, done: resolve };
      this.#pending.set(id, { resolve: () => undefined, reject });
    });
  }

  /** Follows poses, one per video frame, from the current camera. Any control ends the path. */
  follow(poses: readonly WirePose[]): void {
    this.event("camera_actions", { mode: "path", poses: [...poses] });
  }

  record(on: boolean): void {
    const action = on ? "start" : "stop";
    const view = this.store.state.memories.length > 1 ? -1 : 0;
    const sent = this.#connection.send({
      type: "record",
      action,
      view,
      request_id: this.#nextRequest++,
    });
    if (sent) this.store.set({ recording: on ? "starting" : "stopping" });
  }

  /** Handles a message of the server. Public for tests. */
  receive(message: ServerMessage): void {
    switch (message.type) {
      case "session":
        return this.#opened(message);
      case "state":
        this.store.set({
          phase: message.state,
          reason: message.reason ?? "",
          progress: message.progress ?? null,
          queue: message.queue_length ?? 0,
        });
        message.views?.forEach((info, view) => this.#patchInfo(view, info));
        return;
      case "frame_batch":
        this.store.set({ pictures: true });
        return this.#events.onFrames(message);
      case "thumbnails":
        return this.#events.onThumbnails(message);
      case "chunk_stats":
        return this.#chunk(message);
      case "recording":
        this.store.set({ recording: message.state === "started" ? "on" : "off" });
        if (message.state === "saved" && message.url)
          this.#events.onRecorded(message.url, message.seconds ?? 0);
        return;
      case "error":
        return this.#error(message);
      case "receipt":
        if (message.status === "applied" && message.event_id !== null)
          this.#switched.delete(message.event_id);
        return;
      case "saved":
      case "forked":
      case "worlds":
        return this.#answer(message);
      default:
        return;
    }
  }

  #greeting(): Init {
    const world = this.store.state.session?.world;
    return world ? { world } : this.#init;
  }

  #linkChanged(link: Link): void {
    if (link.state === "lost" || link.state === "ended")
      this.#failPending("The connection was lost.");
    if (link.state === "lost") this.store.set({ recording: "off" });
    const failure =
      link.state === "ended"
        ? (this.store.state.failure ?? endOf(link.code))
        : this.store.state.failure;
    this.store.set({ link, failure });
  }

  #opened(session: SessionMessage): void {
    const before = this.store.state;
    const common = commonOf(before.session, before.memories, session);
    this.path.reset(session.path_first, session.path);
    this.store.set({
      phase: this.store.state.phase === "paused" ? "paused" : "running",
      progress: null,
      failure: null,
      session,
      name: session.name,
      prompt: session.prompt,
      pose: fromWire(session.pose),
      memories: session.views.map((info, view) => ({
        ...((common === "all" || (common === "world" && view === 0)) && before.memories[view]
          ? before.memories[view]
          : { retained: [], total: 0, revisited: null, coverage: null, stats: null }),
        info,
      })),
      pictures: common !== "nothing" && before.pictures,
      recording: session.recording ? "on" : "off",
    });
    this.#events.onSession(session, common);
    const split = this.#splitting;
    this.#splitting = null;
    if (!split) return;
    this.#pending.delete(split.id);
    split.done();
  }

  #chunk(stats: ChunkStatsMessage): void {
    const { memories } = this.store.state;
    const old = memories[stats.view];
    if (!old) return;
    if (stats.view === 0) this.path.extend(stats.first_latent, stats.poses);
    const memory: MemoryState = {
      info: old.info,
      stats: stats.replayed && old.stats ? old.stats : stats,
      retained: retainedOf(stats),
      total: stats.retained_total ?? stats.retained.length,
      revisited: stats.revisited,
      coverage: stats.panorama?.share ?? null,
    };
    this.store.set({
      memories: memories.map((other, view) => (view === stats.view ? memory : other)),
      pose: this.path.last ?? this.store.state.pose,
      queue: stats.queue_length ?? 0,
    });
    this.#events.onStats(stats);
  }

  #patchInfo(view: number, patch: Partial<View>): void {
    this.store.set({
      memories: this.store.state.memories.map((memory, at) =>
        at === view ? { ...memory, info: { ...memory.info, ...patch } } : memory,
      ),
    });
  }

  #error(message: ErrorMessage): void {
    const refused =
      message.event_id === undefined ? undefined : this.#switched.get(message.event_id);
    if (refused) this.#patchInfo(refused.view, refused.before);
    const pending =
      typeof message.request_id === "number" ? this.#pending.get(message.request_id) : undefined;
    if (pending) {
      this.#pending.delete(message.request_id as number);
      pending.reject(new Error(message.message));
      return;
    }
    if (message.fatal) {
      this.store.set({ failure: message.message });
      this.#connection.stop();
      this.store.set({ link: { state: "ended", code: 0 } });
      return;
    }
    const { recording } = this.store.state;
    if (message.request_id !== undefined && recording !== "off")
      this.store.set({ recording: "off" });
    this.#events.onError(message.message);
  }

  #request<K extends Answer["type"]>(
    message: ClientMessage,
    _answer: K,
  ): Promise<Extract<Answer, { type: K }>> {
    const id = this.#nextRequest++;
    return new Promise((resolve, reject) => {
      if (!this.#connection.send({ ...message, request_id: id })) {
        reject(new Error("No connection to the server."));
        return;
      }
      this.#pending.set(id, {
        resolve: (answer) => resolve(answer as Extract<Answer, { type: K }>),
        reject,
      });
    });
  }

  #answer(message: Answer): void {
    const id = message.request_id;
    if (typeof id !== "number") return;
    this.#pending.get(id)?.resolve(message);
    this.#pending.delete(id);
  }

  #failPending(reason: string): void {
    for (const pending of this.#pending.values()) pending.reject(new Error(reason));
    this.#pending.clear();
  }
}

function commonOf(
  before: SessionMessage | null,
  memories: readonly MemoryState[],
  now: SessionMessage,
): Common {
  if (before?.world !== now.world) return "nothing";
  const models = (views: readonly View[]): string => views.map(({ model }) => model).join("/");
  return models(memories.map(({ info }) => info)) === models(now.views) ? "all" : "world";
}

function endOf(code: number): string {
  if (code === 4001) return "This world was opened in another window.";
  if (code === 1009) return "The server refused a message that was too large.";
  if (code === 1008)
    return "The server closed the connection: too many messages, or no response in time.";
  return "The server ended the walk.";
}
