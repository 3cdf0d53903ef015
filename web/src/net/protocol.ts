// SPDX-License-Identifier: Apache-2.0
// Generated from the tables in src/serve/protocol by `ninja -C build/release protocol`; do not edit.
// docs/protocol.md describes every message.

/** x, y, z in metres, then the unit quaternion w, x, y, z; camera to world, OpenCV axes. */
export type WirePose = number[];

/** The settings of one view. */
export interface Second {
  /** id of a model, from `/v1/models` */
  model?: string;
  /** history policy */
  history?: string;
  /** maximum number of retained frames of a bounded history */
  history_frames?: number;
  /** readout of the recurrent states */
  readout?: string;
}

/** A scene that the server renders. */
export interface ProceduralStart {
  kind?: "procedural";
  /** style of the scene, from `/v1/starts` */
  style?: string;
  /** seed of the scene */
  seed?: number | string;
}

/** A change of the held keys and axes. */
export interface Transition {
  /** all keys that are held; `[]` releases all */
  actions?: string[];
  /** sticks and touch, added to the keys */
  axes?: Axes;
  /** yaw and pitch since the last message, degrees */
  look?: [number, number];
  /** time of the client in ms; not used */
  client_ts_ms?: number;
}

/** Sticks and touch, added to the keys. */
export interface Axes {
  /** forward; negative is back */
  forward?: number;
  /** right; negative is left */
  right?: number;
  /** turn right; negative is left */
  yaw?: number;
  /** look up; negative is down */
  pitch?: number;
}

/** The keys and axes that the user holds from now on. */
export interface ControlState {
  mode: "state";
  /** changes, in their order */
  transitions: Transition[];
}

/** Poses to follow. */
export interface CameraPath {
  mode: "path";
  /** one per video frame, relative to the current camera */
  poses: WirePose[];
}

/** Controls of the first chunk. */
export interface ConditionInputs {
  /** as in an event */
  camera_actions?: string[][] | ControlState | CameraPath;
}

/** Another prompt. */
export interface PromptEvent {
  /** text prompt */
  prompt: string;
  /** negative prompt for guidance */
  negative_prompt?: string;
}

/** Another number of denoising steps. */
export interface StepsEvent {
  /** number of denoising steps */
  steps: number;
  /** view that changes */
  view?: number;
}

/** Another history policy. */
export interface HistoryEvent {
  /** history policy */
  history: string;
  /** maximum number of retained frames of a bounded history */
  history_frames?: number;
  /** view that changes */
  view?: number;
}

/** Another readout of the recurrent states. */
export interface ReadoutEvent {
  /** readout of the recurrent states */
  readout: string;
  /** view that changes */
  view?: number;
}

/** Resets the recurrent states. */
export interface ResetMemoryEvent {
  /** view that changes */
  view?: number;
}

/** Generates chunks, then pauses. */
export interface StepEvent {
  /** number of chunks */
  count?: number;
}

/** One model with its memory. */
export interface View {
  /** id of the model */
  model: string;
  /** history policy */
  history: string;
  /** maximum number of retained frames of a bounded history */
  history_frames: number;
  /** readout of the recurrent states */
  readout: string;
  /** number of denoising steps */
  steps: number;
  /** the model has recurrent states */
  recurrent: boolean;
  /** latents that a chunk attends to at most; 0 = grows with the walk */
  frame_budget: number;
}

/** A stored world. */
export interface World {
  /** id of the world */
  id: string;
  object: "world";
  /** live worlds grow, saved worlds never change */
  kind: "live" | "saved";
  /** name; may be empty */
  name: string;
  /** Unix time in seconds */
  created_at: number;
  /** Unix time in seconds of the newest chunk */
  updated_at: number;
  /** number of chunks */
  chunks: number;
  /** number of latents */
  latents: number;
  /** length of the video in seconds */
  seconds: number;
  /** width and height of the frames in pixels */
  size: [number, number];
  /** prompt of the newest chunk */
  prompt: string;
  /** seed of the noise */
  seed: string;
  /** id of the world that it was copied from */
  parent: string | null;
  /** its views */
  views: WorldView[];
  /** a session of this server has it open */
  open: boolean;
  /** size on disk in bytes */
  bytes: number;
  /** address of its newest frame */
  picture: string;
}

/** A view of a stored world. */
export interface WorldView {
  /** id of the model */
  model: string;
  /** history policy of the newest chunk */
  history: string;
}

/** Speeds of the camera under keys and axes. */
export interface CameraSpeeds {
  /** metres per second */
  move: number;
  /** degrees per second */
  turn: number;
  /** largest pitch in degrees */
  pitch_limit: number;
}

/** Limits of the server. */
export interface SessionLimits {
  /** largest message in bytes */
  message_bytes: number;
  /** sessions at the same time */
  sessions: number;
  /** seconds without input until a pause */
  idle_seconds: number;
}

/** A retained latent frame. */
export interface Retained {
  /** index of the latent */
  frame: number;
  /** why it is retained */
  kind: "sink" | "bank" | "recent";
  /** its pose */
  pose: WirePose;
  /** this chunk attended to it */
  seen: boolean;
}

/** A retained frame that shows the current place. */
export interface Revisit {
  /** index of the latent */
  frame: number;
  /** share of the newest frame that it shows, 0.3 to 1 */
  overlap: number;
}

/** Directions that the retained frames show. */
export interface Panorama {
  /** share of the sphere, 0 to 1 */
  share: number;
  /** one bit per direction */
  mask: Uint8Array<ArrayBuffer>;
}

/** A small picture of a latent. */
export interface Thumbnail {
  /** index of the latent */
  frame: number;
  /** JPEG, 96 pixels wide */
  jpeg: Uint8Array<ArrayBuffer>;
}

/** The body of `POST /v1/videos`, JSON or a form. */
export interface CreateVideo {
  /** id of a model, from `/v1/models` */
  model?: string;
  /** history policy */
  history?: string;
  /** maximum number of retained frames of a bounded history */
  history_frames?: number;
  /** readout of the recurrent states */
  readout?: string;
  /** start of the world: an id, or a scene to render */
  start?: string | ProceduralStart;
  /** text prompt */
  prompt?: string;
  /** negative prompt for guidance */
  negative_prompt?: string;
  /** guidance scale; 1 = no guidance */
  guidance_scale?: number;
  /** seed of the noise, 0 to 2⁶⁴ − 1 */
  seed?: number | string;
  /** size of the frames in pixels, such as `192x128` */
  size?: string;
  /** number of denoising steps */
  num_inference_steps?: number;
  /** solver */
  solver?: string;
  /** start picture: a file in a form, base64 or a `data:` address in JSON */
  input_reference?: Uint8Array<ArrayBuffer>;
  /** continue this world as it is now; the world does not change */
  world?: string;
  /** length, rounded up to whole chunks */
  seconds?: number;
  /** length in video frames; replaces `seconds` */
  num_frames?: number;
  /** keys such as `w-32,left-16`, or a preset of `loci trajectory` */
  action?: string;
}

/** The body of `POST /v1/worlds/{id}`. */
export interface RenameWorld {
  /** new name */
  name: string;
}

/** The query of `GET /v1/videos`. */
export interface VideoQuery {
  /** number of videos */
  limit?: number;
  /** id of the video before the first one */
  after?: string;
  /** by time of creation */
  order?: "asc" | "desc";
}

/** The query of `GET /v1/starts/{id}/path`. */
export interface PathQuery {
  /** poses per second */
  fps?: number;
}

/** A video: a job of `POST /v1/videos`, or a recording. */
export interface Video {
  /** id of the video */
  id: string;
  object: "video";
  /** id of the model */
  model?: string;
  /** state of the job */
  status: "queued" | "in_progress" | "completed" | "failed";
  /** 0 to 100 */
  progress: number;
  /** Unix time in seconds */
  created_at: number;
  /** the same in microseconds, which orders videos of the same second */
  created_us?: number;
  /** Unix time in seconds */
  completed_at: number | null;
  /** Unix time in seconds when it is deleted */
  expires_at: number | null;
  /** width and height in pixels, such as `192x128` */
  size?: string;
  /** length in seconds */
  seconds?: string;
  /** text prompt */
  prompt?: string;
  /** number of video frames so far */
  frames: number;
  /** why it failed */
  error: VideoError | null;
  /** world that was recorded; recordings only */
  world?: string;
}

/** Why a video failed. */
export interface VideoError {
  /** kind of error */
  code: string;
  /** explanation for people */
  message: string;
}

/** A served model, in `GET /v1/models`. */
export interface Model {
  /** id of the model: the name of its folder */
  id: string;
  object: "model";
  /** Unix time in seconds when it was loaded */
  created: number;
  owned_by: "loci";
  /** properties and defaults */
  loci: ModelDetails;
}

/** Properties and defaults of a model. */
export interface ModelDetails {
  /** default width and height in pixels */
  size: [number, number];
  /** frames per second */
  fps: number;
  /** horizontal field of view in degrees */
  fov: number;
  /** default number of denoising steps */
  steps: number;
  /** default solver */
  solver: string;
  /** default guidance scale */
  guidance: number;
  /** default history policy */
  history: string;
  /** all history policies */
  histories: string[];
  /** all solvers */
  solvers: string[];
  /** all readouts of the recurrent states */
  readouts: string[];
  /** latents of a chunk */
  chunk_latents: number;
  /** video frames of a latent */
  frames_per_latent: number;
  /** number of parameters of the transformer */
  parameters: number;
  /** the model has recurrent states */
  recurrent: boolean;
  /** the model uses prompts */
  text: boolean;
  /** style of the rendered scenes that the model was trained for; null: any */
  family: string | null;
}

/** A start of a world, in `GET /v1/starts`. */
export interface Start {
  /** id of the start */
  id: string;
  /** a picture, or a rendered scene */
  kind: "picture" | "procedural";
  /** title */
  title: string;
  /** its prompt; may be empty */
  prompt: string;
  /** style of a rendered scene */
  style: string | null;
  /** address of a camera path through it */
  path: string | null;
  /** length of the tour of the whole scene in seconds; null: no fixed length */
  tour_seconds: number | null;
  /** address of a JPEG */
  picture: string;
}

/** Opens a world. The first message, sent once. */
export interface InitMessage {
  type: "init";
  /** version of the protocol that the client speaks */
  protocol?: number;
  /** continue this world; a saved world is copied first */
  world?: string;
  /** id of a model, from `/v1/models` */
  model?: string;
  /** history policy */
  history?: string;
  /** maximum number of retained frames of a bounded history */
  history_frames?: number;
  /** readout of the recurrent states */
  readout?: string;
  /** start of the world: an id, or a scene to render */
  start?: string | ProceduralStart;
  /** own start picture, JPEG or PNG; replaces `start` */
  first_frame?: Uint8Array<ArrayBuffer>;
  /** length of the tour of a rendered scene, in seconds */
  tour_seconds?: number;
  /** text prompt */
  prompt?: string;
  /** negative prompt for guidance */
  negative_prompt?: string;
  /** guidance scale; 1 = no guidance */
  guidance_scale?: number;
  /** seed of the noise, 0 to 2⁶⁴ − 1 */
  seed?: number | string;
  /** size of the frames in pixels, such as `192x128` */
  size?: string;
  /** number of denoising steps */
  num_inference_steps?: number;
  /** solver */
  solver?: string;
  /** opens view 1 with these settings */
  second?: Second;
  /** `raw`: RGB bytes, row by row; any other value means `jpeg` */
  realtime_output_format?: string;
  /** JPEG quality */
  output_compression?: number;
  /** playback rate in frames per second; limits the pacing */
  fps?: number;
  /** how frames are spread over time */
  pacing?: "measured" | "none";
  /** pause after this many chunks of the connection; 0 = no limit */
  max_chunks?: number;
  /** start paused */
  paused?: boolean;
  /** controls of the first chunk */
  condition_inputs?: ConditionInputs;
}

/** A control, applied at the next chunk. */
export interface EventMessage {
  type: "event";
  /** what changes */
  kind: "camera_actions" | "prompt" | "steps" | "history" | "readout" | "reset_memory" | "pause" | "resume" | "step";
  /** depends on the kind */
  payload?: unknown;
  /** echoed in receipts, `frame_batch` and `chunk_stats` */
  event_id?: number;
}

/** Saves a copy of the world. Answer: `saved`. */
export interface SaveMessage {
  type: "save";
  /** name of the copy */
  name?: string;
  /** echoed in the answer */
  request_id?: number | string;
}

/** Makes a live copy of the world. Answer: `forked`. */
export interface ForkMessage {
  type: "fork";
  /** name of the copy */
  name?: string;
  /** the session continues in the copy */
  switch?: boolean;
  /** echoed in the answer */
  request_id?: number | string;
}

/** Opens, replaces or closes view 1. Answer: `session`. */
export interface SplitMessage {
  type: "split";
  /** settings of view 1; null: back to one view */
  second?: Second | null;
  /** echoed if the request is refused */
  request_id?: number | string;
}

/** Opens another world in this connection. Answer: `session`. */
export interface LoadMessage {
  type: "load";
  /** id of the world */
  world: string;
  /** echoed if the request is refused */
  request_id?: number | string;
}

/** Lists the worlds. Answer: `worlds`. */
export interface ListWorldsMessage {
  type: "list_worlds";
  /** echoed in the answer */
  request_id?: number | string;
}

/** Deletes a closed world. Answer: `worlds`. */
export interface DeleteWorldMessage {
  type: "delete_world";
  /** id of the world */
  world: string;
  /** echoed in the answer */
  request_id?: number | string;
}

/** Starts or stops a recording. Answer: `recording`. */
export interface RecordMessage {
  type: "record";
  /** what to do */
  action: "start" | "stop";
  /** recorded view; −1 = all views side by side */
  view?: number;
  /** echoed in the answer */
  request_id?: number | string;
}

/** Answer: `pong` with the same fields. */
export interface PingMessage {
  type: "ping";
  /** any field is sent back; the page sends its time in ms */
  sent?: number;
}

/** A world is ready. Sent after `init`, `load` and `split`. */
export interface SessionMessage {
  type: "session";
  /** version of the protocol */
  protocol: number;
  /** id of the live world; `init` with it continues the world */
  world: string;
  /** name of the world; may be empty */
  name: string;
  /** the world existed before */
  resumed: boolean;
  /** index of the next chunk; 1 for a new world */
  next_chunk: number;
  /** number of latents so far */
  latents: number;
  /** current pose of the camera */
  pose: WirePose;
  /** current prompt */
  prompt: string;
  /** seed of the noise */
  seed: string;
  /** width and height of the frames in pixels */
  size: [number, number];
  /** frames per second of the world */
  fps: number;
  /** latents of a chunk */
  chunk_latents: number;
  /** video frames of a latent */
  frames_per_latent: number;
  /** horizontal field of view in degrees */
  fov: number;
  /** speeds of keys and axes */
  camera: CameraSpeeds;
  /** the one or two views */
  views: View[];
  /** poses of all latents so far, at most the newest 4096 */
  path: WirePose[];
  /** index of the first latent in `path` */
  path_first: number;
  /** a recording is running */
  recording: boolean;
  /** limits of the server */
  limits: SessionLimits;
}

/** An event was received, or a chunk applied it. */
export interface ReceiptMessage {
  type: "receipt";
  /** the event */
  event_id: number;
  /** kind of the event */
  kind: string;
  /** how far the event has come */
  status: "received" | "applied";
  /** chunk that applied the event; with `applied` only */
  chunk_index?: number;
}

/** Video frames of a chunk. */
export interface FrameBatchMessage {
  type: "frame_batch";
  /** view of the frames */
  view: number;
  /** chunk of the frames */
  chunk_index: number;
  /** number of frames in this message */
  num_frames: number;
  /** index of the first frame since the world's start */
  frame_index: number;
  /** index of this message in the chunk */
  frame_batch_index: number;
  /** number of messages of the chunk */
  num_frame_batches: number;
  /** last message of the chunk */
  is_final_frame_batch: boolean;
  /** media type of a frame */
  content_type: "image/jpeg" | "application/octet-stream";
  /** encoding of the frames */
  encoding: "jpeg" | "raw";
  /** pixels */
  width: number;
  /** pixels */
  height: number;
  /** always 3 */
  channels: number;
  /** bytes of each frame */
  payload_lengths: number[];
  /** the frames, concatenated */
  payload: Uint8Array<ArrayBuffer>;
  /** newest event that the chunk applied */
  event_id: number | null;
}

/** Statistics of a chunk, one message per view. */
export interface ChunkStatsMessage {
  type: "chunk_stats";
  /** the view */
  view: number;
  /** the chunk */
  chunk_index: number;
  /** video frames of the chunk */
  num_frames: number;
  /** index of the first latent of the chunk */
  first_latent: number;
  /** poses of the chunk's latents */
  poses: WirePose[];
  /** newest event that the chunk applied */
  event_id: number | null;
  /** denoising and decoding */
  scheduler_forward_ms?: number;
  /** commit pass */
  commit_ms?: number;
  /** JPEG encoding, while the commit pass runs */
  encode_ms?: number;
  /** writing to disk */
  store_ms?: number;
  /** the whole chunk without `encode_ms` */
  chunk_total_ms?: number;
  /** from the start of the last chunk to the start of this one */
  interval_ms?: number;
  /** waiting for the engine */
  queue_ms?: number;
  /** from the oldest applied control to the first frame */
  control_latency_ms?: number | null;
  /** time between two frames; 0 without pacing */
  frame_ms?: number;
  /** bytes of the frames */
  ws_payload_bytes?: number;
  /** walks and jobs that wait for the engine */
  queue_length: number;
  /** frames that this connection has lost so far */
  dropped_frames: number;
  /** bytes of the recurrent states and stored keys */
  memory_bytes: number;
  /** frames that the next chunk may attend to */
  retained: Retained[];
  /** number of retained frames */
  retained_total: number;
  /** the frame that shows most of the newest one */
  revisited: Revisit | null;
  /** directions that the retained frames show */
  panorama: Panorama;
  /** mean share of the states that the commit pass kept, 0 to 1 */
  retention: number | null;
  /** RMS of the states' Frobenius norms over layers and heads */
  state_norm: number | null;
  /** the same for each recurrent layer */
  state_norms: number[];
  /** resident memory of the server in bytes */
  process_bytes: number;
  /** the chunk is recorded (first frame, tour), not generated */
  given: boolean;
  /** the chunk is not new: sent after `session` or `history` */
  replayed: boolean;
}

/** Small pictures of latents. */
export interface ThumbnailsMessage {
  type: "thumbnails";
  /** the view */
  view: number;
  /** the pictures */
  frames: Thumbnail[];
}

/** The state of the walk, sent with every change. */
export interface StateMessage {
  type: "state";
  /** the state */
  state: "starting" | "running" | "paused";
  /** why the walk is in this state */
  reason?: "client" | "idle" | "max_chunks" | "storage" | "error" | "history" | "split" | "tour";
  /** progress of replaying the past or of a tour, 0 to 1 */
  progress?: number;
  /** walks and jobs that wait for the engine */
  queue_length: number;
  /** as in `session`, once the world is ready */
  views?: View[];
}

/** Answer to `save`. */
export interface SavedMessage {
  type: "saved";
  /** the saved copy */
  world: World;
  /** as in the request */
  request_id: number | string | null;
}

/** Answer to `fork`. */
export interface ForkedMessage {
  type: "forked";
  /** the live copy */
  world: World;
  /** the session continues in the copy */
  switched: boolean;
  /** as in the request */
  request_id: number | string | null;
}

/** Answer to `list_worlds` and `delete_world`. */
export interface WorldsMessage {
  type: "worlds";
  /** newest first, as `GET /v1/worlds` */
  worlds: World[];
  /** as in the request */
  request_id: number | string | null;
}

/** Answer to `record`; also at `--record-seconds`. */
export interface RecordingMessage {
  type: "recording";
  /** what happened */
  state: "started" | "saved";
  /** id of the video; with `saved` only */
  video?: string;
  /** address of the MP4; with `saved` only */
  url?: string;
  /** length in frames; with `saved` only */
  frames?: number;
  /** length in seconds; with `saved` only */
  seconds?: number;
  /** as in the request */
  request_id: number | string | null;
}

/** Answer to `ping`, with the same fields. */
export interface PongMessage {
  type: "pong";
  /** any field of `ping` comes back */
  sent?: number;
}

/** A message was refused, or the walk failed. */
export interface ErrorMessage {
  type: "error";
  /** kind of error */
  code: "bad_message" | "bad_request" | "unsupported_version" | "not_found" | "busy" | "limit" | "storage" | "memory" | "bad_world" | "internal";
  /** explanation for people */
  message: string;
  /** the server closes the connection */
  fatal: boolean;
  /** event that was refused */
  event_id?: number;
  /** request that was refused */
  request_id?: number | string;
}

/** The payloads of events, by kind. */
export interface EventPayloads {
  /** moves the camera */
  camera_actions: string[][] | ControlState | CameraPath;
  /** sets the prompt */
  prompt: string | PromptEvent;
  /** sets the number of denoising steps */
  steps: number | StepsEvent;
  /** sets the history policy */
  history: string | HistoryEvent;
  /** sets the readout of the recurrent states */
  readout: string | ReadoutEvent;
  /** resets the recurrent states */
  reset_memory: number | ResetMemoryEvent | undefined;
  /** pauses the walk */
  pause: undefined;
  /** resumes the walk */
  resume: undefined;
  /** generates that many chunks, then pauses */
  step: number | StepEvent | undefined;
}

export type EventKind = keyof EventPayloads;

/** Messages of the page. */
export type ClientMessage =
  | InitMessage
  | EventMessage
  | SaveMessage
  | ForkMessage
  | SplitMessage
  | LoadMessage
  | ListWorldsMessage
  | DeleteWorldMessage
  | RecordMessage
  | PingMessage;

/** Messages of the server. */
export type ServerMessage =
  | SessionMessage
  | ReceiptMessage
  | FrameBatchMessage
  | ChunkStatsMessage
  | ThumbnailsMessage
  | StateMessage
  | SavedMessage
  | ForkedMessage
  | WorldsMessage
  | RecordingMessage
  | PongMessage
  | ErrorMessage;
