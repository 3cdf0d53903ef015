// SPDX-License-Identifier: Apache-2.0
// The messages of docs/protocol.md, as far as the page uses them.

/** x, y, z, then the unit quaternion w, x, y, z. */
export type WirePose = number[];

export interface ViewInfo {
  model: string;
  history: string;
  history_frames: number;
  readout: string;
  steps: number;
  recurrent: boolean;
  frame_budget: number;
}

export interface SessionMessage {
  type: "session";
  protocol: number;
  world: string;
  name: string;
  resumed: boolean;
  next_chunk: number;
  latents: number;
  pose: WirePose;
  prompt: string;
  seed: string;
  size: [number, number];
  fps: number;
  chunk_latents: number;
  frames_per_latent: number;
  fov: number;
  camera: { move: number; turn: number; pitch_limit: number };
  views: ViewInfo[];
  path: WirePose[];
  path_first: number;
  recording?: boolean;
}

export interface StateMessage {
  type: "state";
  state: "starting" | "running" | "paused";
  reason?: string;
  progress?: number;
  queue_length?: number;
  views?: ViewInfo[];
}

export interface FrameBatch {
  type: "frame_batch";
  view: number;
  chunk_index: number;
  num_frames: number;
  frame_index: number;
  content_type: string;
  encoding: string;
  payload_lengths: number[];
  payload: Uint8Array<ArrayBuffer>;
  event_id: number | null;
}

export type Role = "sink" | "bank" | "recent";

export interface RetainedFrame {
  frame: number;
  kind: Role;
  pose: WirePose;
  seen: boolean;
}

export interface ChunkStats {
  type: "chunk_stats";
  view: number;
  chunk_index: number;
  num_frames: number;
  first_latent: number;
  poses: WirePose[];
  event_id: number | null;
  scheduler_forward_ms?: number;
  chunk_total_ms?: number;
  interval_ms?: number;
  queue_ms?: number;
  control_latency_ms?: number | null;
  queue_length?: number;
  dropped_frames?: number;
  memory_bytes: number;
  retained: RetainedFrame[];
  retained_total?: number; // the list may be shorter
  revisited: { frame: number; overlap: number } | null;
  panorama?: { share: number; mask: Uint8Array };
  retention: number | null;
  state_norm: number | null;
  replayed?: boolean;
}

export interface Thumbnails {
  type: "thumbnails";
  view: number;
  frames: { frame: number; jpeg: Uint8Array<ArrayBuffer> }[];
}

export interface Receipt {
  type: "receipt";
  event_id: number | null;
  kind: string;
  status: "received" | "applied";
  chunk_index?: number;
}

export interface World {
  id: string;
  kind: "live" | "saved";
  name: string;
  created_at: number;
  updated_at: number;
  latents: number;
  seconds: number;
  prompt: string;
  views: { model: string; history: string }[];
  open: boolean;
  bytes: number;
  picture: string;
}

export interface ErrorMessage {
  type: "error";
  code: string;
  message: string;
  fatal?: boolean;
  event_id?: number;
  request_id?: number | string;
}

export interface Recording {
  type: "recording";
  state: "started" | "saved";
  video?: string;
  url?: string;
  frames?: number;
  seconds?: number;
  request_id?: number;
}

export type ServerMessage =
  | SessionMessage
  | StateMessage
  | FrameBatch
  | ChunkStats
  | Thumbnails
  | Receipt
  | ErrorMessage
  | Recording
  | { type: "saved"; world: World; request_id?: number }
  | { type: "forked"; world: World; switched: boolean; request_id?: number }
  | { type: "worlds"; worlds: World[]; request_id?: number }
  | { type: "pong"; sent?: number };

/** What a walk starts from. */
export interface Init {
  world?: string;
  model?: string;
  start?: string | { kind: "procedural"; style?: string; seed?: number };
  first_frame?: Uint8Array;
  tour_seconds?: number; // of a place, shown to the model before the user takes over
  prompt?: string;
  seed?: string;
  num_inference_steps?: number;
  history?: string;
  second?: Second;
}

/** A memory beside the first. */
export interface Second {
  model?: string;
  history?: string;
}

/** From `/v1/models`. */
export interface Model {
  id: string;
  loci: {
    size: [number, number];
    fps: number;
    fov: number;
    steps: number;
    history: string;
    histories: string[];
    readouts: string[];
    recurrent: boolean;
    text: boolean;
    parameters: number;
  };
}

/** From `/v1/starts`. */
export interface Start {
  id: string;
  kind: "picture" | "procedural";
  title: string;
  prompt: string;
  style?: string;
  picture: string;
  path?: string | null; // address of a camera path through it
}
