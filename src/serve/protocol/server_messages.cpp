// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/protocol/server_messages.h"

#include "loci/memory/history/history_registry.h"
#include "loci/sample/stream/stream_options.h"

namespace loci::serve {

namespace {

// Why a walk is in its state.
std::vector<std::string> state_reasons() {
  return {"client", "idle", "max_chunks", "storage", "error", "history", "split", "tour"};
}

std::vector<std::string> error_codes() {
  return {"bad_message", "bad_request", "unsupported_version", "not_found", "busy", "limit",
          "storage",     "memory",      "bad_world",           "internal"};
}

}  // namespace

template <>
const Table<ViewInfo>& table_of() {
  static const Table<ViewInfo> made = [] {
    auto t = Table<ViewInfo>::map("View", "One model with its memory.");
    t.field("model", &ViewInfo::model, "id of the model").require();
    t.field("history", &ViewInfo::history, "history policy")
        .require()
        .one_of("History", memory::history_names);
    t.field("history_frames", &ViewInfo::history_frames,
            "maximum number of retained frames of a bounded history")
        .require();
    t.field("readout", &ViewInfo::readout, "readout of the recurrent states")
        .require()
        .one_of("Readout", sample::readout_names);
    t.field("steps", &ViewInfo::steps, "number of denoising steps").require();
    t.field("recurrent", &ViewInfo::recurrent, "the model has recurrent states").require();
    t.field("frame_budget", &ViewInfo::frame_budget,
            "latents that a chunk attends to at most; 0 = grows with the walk")
        .require();
    return t;
  }();
  return made;
}

template <>
const Table<WorldViewInfo>& table_of() {
  static const Table<WorldViewInfo> made = [] {
    auto t = Table<WorldViewInfo>::map("WorldView", "A view of a stored world.");
    t.field("model", &WorldViewInfo::model, "id of the model").require();
    t.field("history", &WorldViewInfo::history, "history policy of the newest chunk").require();
    return t;
  }();
  return made;
}

template <>
const Table<WorldInfo>& table_of() {
  static const Table<WorldInfo> made = [] {
    auto t = Table<WorldInfo>::map("World", "A stored world.");
    t.field("id", &WorldInfo::id, "id of the world").require();
    t.constant("object", "world");
    t.field("kind", &WorldInfo::kind, "live worlds grow, saved worlds never change")
        .require()
        .one_of({"live", "saved"});
    t.field("name", &WorldInfo::name, "name; may be empty").require();
    t.field("created_at", &WorldInfo::created_at, "Unix time in seconds").require();
    t.field("updated_at", &WorldInfo::updated_at, "Unix time in seconds of the newest chunk")
        .require();
    t.field("chunks", &WorldInfo::chunks, "number of chunks").require();
    t.field("latents", &WorldInfo::latents, "number of latents").require();
    t.field("seconds", &WorldInfo::seconds, "length of the video in seconds").require();
    t.field("size", &WorldInfo::size, "width and height of the frames in pixels").require();
    t.field("prompt", &WorldInfo::prompt, "prompt of the newest chunk").require();
    t.field("seed", &WorldInfo::seed, "seed of the noise").require();
    t.field("parent", &WorldInfo::parent, "id of the world that it was copied from").or_null();
    t.field("views", &WorldInfo::views, "its views").require();
    t.field("open", &WorldInfo::open, "a session of this server has it open").require();
    t.field("bytes", &WorldInfo::bytes, "size on disk in bytes").require();
    t.field("picture", &WorldInfo::picture, "address of its newest frame").require();
    return t;
  }();
  return made;
}

template <>
const Table<CameraSpeeds>& table_of() {
  static const Table<CameraSpeeds> made = [] {
    auto t = Table<CameraSpeeds>::map("CameraSpeeds", "Speeds of the camera under keys and axes.");
    t.field("move", &CameraSpeeds::move, "metres per second").require();
    t.field("turn", &CameraSpeeds::turn, "degrees per second").require();
    t.field("pitch_limit", &CameraSpeeds::pitch_limit, "largest pitch in degrees").require();
    return t;
  }();
  return made;
}

template <>
const Table<SessionLimits>& table_of() {
  static const Table<SessionLimits> made = [] {
    auto t = Table<SessionLimits>::map("SessionLimits", "Limits of the server.");
    t.field("message_bytes", &SessionLimits::message_bytes, "largest message in bytes").require();
    t.field("sessions", &SessionLimits::sessions, "sessions at the same time").require();
    t.field("idle_seconds", &SessionLimits::idle_seconds, "seconds without input until a pause")
        .require();
    return t;
  }();
  return made;
}

template <>
const Table<SessionMessage>& table_of() {
  static const Table<SessionMessage> made = [] {
    using M = SessionMessage;
    auto t =
        Table<M>::message("session", "A world is ready. Sent after `init`, `load` and `split`.");
    t.field("protocol", &M::protocol, "version of the protocol").require();
    t.field("world", &M::world, "id of the live world; `init` with it continues the world")
        .require();
    t.field("name", &M::name, "name of the world; may be empty").require();
    t.field("resumed", &M::resumed, "the world existed before").require();
    t.field("next_chunk", &M::next_chunk, "index of the next chunk; 1 for a new world").require();
    t.field("latents", &M::latents, "number of latents so far").require();
    t.field("pose", &M::pose, "current pose of the camera").require();
    t.field("prompt", &M::prompt, "current prompt").require();
    t.field("seed", &M::seed, "seed of the noise").require();
    t.field("size", &M::size, "width and height of the frames in pixels").require();
    t.field("fps", &M::fps, "frames per second of the world").require();
    t.field("chunk_latents", &M::chunk_latents, "latents of a chunk").require();
    t.field("frames_per_latent", &M::frames_per_latent, "video frames of a latent").require();
    t.field("fov", &M::fov, "horizontal field of view in degrees").require();
    t.field("camera", &M::camera, "speeds of keys and axes").require();
    t.field("views", &M::views, "the one or two views").require();
    t.field("path", &M::path, "poses of all latents so far, at most the newest 4096").require();
    t.field("path_first", &M::path_first, "index of the first latent in `path`").require();
    t.field("recording", &M::recording, "a recording is running").require();
    t.field("limits", &M::limits, "limits of the server").require();
    return t;
  }();
  return made;
}

template <>
const Table<ReceiptMessage>& table_of() {
  static const Table<ReceiptMessage> made = [] {
    using M = ReceiptMessage;
    auto t = Table<M>::message("receipt", "An event was received, or a chunk applied it.");
    t.field("event_id", &M::event_id, "the event").require();
    t.field("kind", &M::kind, "kind of the event").require();
    t.field("status", &M::status, "how far the event has come")
        .require()
        .one_of({"received", "applied"});
    t.field("chunk_index", &M::chunk_index, "chunk that applied the event; with `applied` only");
    return t;
  }();
  return made;
}

template <>
const Table<FrameBatchMessage>& table_of() {
  static const Table<FrameBatchMessage> made = [] {
    using M = FrameBatchMessage;
    auto t = Table<M>::message("frame_batch", "Video frames of a chunk.");
    t.field("view", &M::view, "view of the frames").require();
    t.field("chunk_index", &M::chunk_index, "chunk of the frames").require();
    t.field("num_frames", &M::num_frames, "number of frames in this message").require();
    t.field("frame_index", &M::frame_index, "index of the first frame since the world's start")
        .require();
    t.field("frame_batch_index", &M::frame_batch_index, "index of this message in the chunk")
        .require();
    t.field("num_frame_batches", &M::num_frame_batches, "number of messages of the chunk")
        .require();
    t.field("is_final_frame_batch", &M::is_final_frame_batch, "last message of the chunk")
        .require();
    t.field("content_type", &M::content_type, "media type of a frame")
        .require()
        .one_of({"image/jpeg", "application/octet-stream"});
    t.field("encoding", &M::encoding, "encoding of the frames").require().one_of({"jpeg", "raw"});
    t.field("width", &M::width, "pixels").require();
    t.field("height", &M::height, "pixels").require();
    t.field("channels", &M::channels, "always 3").require();
    t.field("payload_lengths", &M::payload_lengths, "bytes of each frame").require();
    t.field("payload", &M::payload, "the frames, concatenated").require();
    t.field("event_id", &M::event_id, "newest event that the chunk applied").or_null();
    return t;
  }();
  return made;
}

template <>
const Table<RetainedFrame>& table_of() {
  static const Table<RetainedFrame> made = [] {
    auto t = Table<RetainedFrame>::map("Retained", "A retained latent frame.");
    t.field("frame", &RetainedFrame::frame, "index of the latent").require();
    t.field("kind", &RetainedFrame::kind, "why it is retained")
        .require()
        .one_of({"sink", "bank", "recent"});
    t.field("pose", &RetainedFrame::pose, "its pose").require();
    t.field("seen", &RetainedFrame::seen, "this chunk attended to it").require();
    return t;
  }();
  return made;
}

template <>
const Table<Revisit>& table_of() {
  static const Table<Revisit> made = [] {
    auto t = Table<Revisit>::map("Revisit", "A retained frame that shows the current place.");
    t.field("frame", &Revisit::frame, "index of the latent").require();
    t.field("overlap", &Revisit::overlap, "share of the newest frame that it shows, 0.3 to 1")
        .require();
    return t;
  }();
  return made;
}

template <>
const Table<Panorama>& table_of() {
  static const Table<Panorama> made = [] {
    auto t = Table<Panorama>::map("Panorama", "Directions that the retained frames show.");
    t.field("share", &Panorama::share, "share of the sphere, 0 to 1").require();
    t.field("mask", &Panorama::mask, "one bit per direction").require();
    return t;
  }();
  return made;
}

template <>
const Table<MemoryStats>& table_of() {
  static const Table<MemoryStats> made = [] {
    using M = MemoryStats;
    auto t = Table<M>::map("MemoryStats", "The memory of a view.");
    t.field("memory_bytes", &M::memory_bytes, "bytes of the recurrent states and stored keys")
        .require();
    t.field("retained", &M::retained, "frames that the next chunk may attend to").require();
    t.field("retained_total", &M::retained_total, "number of retained frames").require();
    t.field("revisited", &M::revisited, "the frame that shows most of the newest one").or_null();
    t.field("panorama", &M::panorama, "directions that the retained frames show").require();
    t.field("retention", &M::retention,
            "mean share of the states that the commit pass kept, 0 to 1")
        .or_null();
    t.field("state_norm", &M::state_norm,
            "RMS of the states' Frobenius norms over layers and heads")
        .or_null();
    t.field("state_norms", &M::state_norms, "the same for each recurrent layer").require();
    return t;
  }();
  return made;
}

template <>
const Table<ChunkTimes>& table_of() {
  static const Table<ChunkTimes> made = [] {
    using M = ChunkTimes;
    auto t = Table<M>::map("ChunkTimes", "Times and bytes of a chunk.");
    t.field("scheduler_forward_ms", &M::forward, "denoising and decoding").require();
    t.field("commit_ms", &M::commit, "commit pass").require();
    t.field("encode_ms", &M::encode, "JPEG encoding, while the commit pass runs").require();
    t.field("store_ms", &M::store, "writing to disk").require();
    t.field("chunk_total_ms", &M::total, "the whole chunk without `encode_ms`").require();
    t.field("interval_ms", &M::interval,
            "from the start of the last chunk to the start of this one")
        .require();
    t.field("queue_ms", &M::queue, "waiting for the engine").require();
    t.field("control_latency_ms", &M::control_latency,
            "from the oldest applied control to the first frame")
        .or_null();
    t.field("frame_ms", &M::frame, "time between two frames; 0 without pacing").require();
    t.field("ws_payload_bytes", &M::payload_bytes, "bytes of the frames").require();
    return t;
  }();
  return made;
}

template <>
const Table<ChunkStatsMessage>& table_of() {
  static const Table<ChunkStatsMessage> made = [] {
    using M = ChunkStatsMessage;
    auto t = Table<M>::message("chunk_stats", "Statistics of a chunk, one message per view.");
    t.field("view", &M::view, "the view").require();
    t.field("chunk_index", &M::chunk_index, "the chunk").require();
    t.field("num_frames", &M::num_frames, "video frames of the chunk").require();
    t.field("first_latent", &M::first_latent, "index of the first latent of the chunk").require();
    t.field("poses", &M::poses, "poses of the chunk's latents").require();
    t.field("event_id", &M::event_id, "newest event that the chunk applied").or_null();
    t.include(&M::times);
    t.field("queue_length", &M::queue_length, "walks and jobs that wait for the engine").require();
    t.field("dropped_frames", &M::dropped_frames, "frames that this connection has lost so far")
        .require();
    t.include(&M::memory);
    t.field("process_bytes", &M::process_bytes, "resident memory of the server in bytes").require();
    t.field("given", &M::given, "the chunk is recorded (first frame, tour), not generated")
        .require();
    t.field("replayed", &M::replayed, "the chunk is not new: sent after `session` or `history`")
        .require();
    return t;
  }();
  return made;
}

template <>
const Table<ThumbnailInfo>& table_of() {
  static const Table<ThumbnailInfo> made = [] {
    auto t = Table<ThumbnailInfo>::map("Thumbnail", "A small picture of a latent.");
    t.field("frame", &ThumbnailInfo::frame, "index of the latent").require();
    t.field("jpeg", &ThumbnailInfo::jpeg, "JPEG, 96 pixels wide").require();
    return t;
  }();
  return made;
}

template <>
const Table<ThumbnailsMessage>& table_of() {
  static const Table<ThumbnailsMessage> made = [] {
    using M = ThumbnailsMessage;
    auto t = Table<M>::message("thumbnails", "Small pictures of latents.");
    t.field("view", &M::view, "the view").require();
    t.field("frames", &M::frames, "the pictures").require();
    return t;
  }();
  return made;
}

template <>
const Table<StateMessage>& table_of() {
  static const Table<StateMessage> made = [] {
    using M = StateMessage;
    auto t = Table<M>::message("state", "The state of the walk, sent with every change.");
    t.field("state", &M::state, "the state").require().one_of({"starting", "running", "paused"});
    t.field("reason", &M::reason, "why the walk is in this state").one_of(state_reasons());
    t.field("progress", &M::progress, "progress of replaying the past or of a tour, 0 to 1");
    t.field("queue_length", &M::queue_length, "walks and jobs that wait for the engine").require();
    t.field("views", &M::views, "as in `session`, once the world is ready");
    return t;
  }();
  return made;
}

template <>
const Table<SavedMessage>& table_of() {
  static const Table<SavedMessage> made = [] {
    using M = SavedMessage;
    auto t = Table<M>::message("saved", "Answer to `save`.");
    t.field("world", &M::world, "the saved copy").require();
    t.field("request_id", &M::request_id, "as in the request").or_null();
    return t;
  }();
  return made;
}

template <>
const Table<ForkedMessage>& table_of() {
  static const Table<ForkedMessage> made = [] {
    using M = ForkedMessage;
    auto t = Table<M>::message("forked", "Answer to `fork`.");
    t.field("world", &M::world, "the live copy").require();
    t.field("switched", &M::switched, "the session continues in the copy").require();
    t.field("request_id", &M::request_id, "as in the request").or_null();
    return t;
  }();
  return made;
}

template <>
const Table<WorldsMessage>& table_of() {
  static const Table<WorldsMessage> made = [] {
    using M = WorldsMessage;
    auto t = Table<M>::message("worlds", "Answer to `list_worlds` and `delete_world`.");
    t.field("worlds", &M::worlds, "newest first, as `GET /v1/worlds`").require();
    t.field("request_id", &M::request_id, "as in the request").or_null();
    return t;
  }();
  return made;
}

template <>
const Table<RecordingMessage>& table_of() {
  static const Table<RecordingMessage> made = [] {
    using M = RecordingMessage;
    auto t = Table<M>::message("recording", "Answer to `record`; also at `--record-seconds`.");
    t.field("state", &M::state, "what happened").require().one_of({"started", "saved"});
    t.field("video", &M::video, "id of the video; with `saved` only");
    t.field("url", &M::url, "address of the MP4; with `saved` only");
    t.field("frames", &M::frames, "length in frames; with `saved` only");
    t.field("seconds", &M::seconds, "length in seconds; with `saved` only");
    t.field("request_id", &M::request_id, "as in the request").or_null();
    return t;
  }();
  return made;
}

template <>
const Table<PongMessage>& table_of() {
  static const Table<PongMessage> made = [] {
    auto t = Table<PongMessage>::message("pong", "Answer to `ping`, with the same fields.");
    t.described<double>("sent", "any field of `ping` comes back");
    return t;
  }();
  return made;
}

template <>
const Table<ErrorMessage>& table_of() {
  static const Table<ErrorMessage> made = [] {
    using M = ErrorMessage;
    auto t = Table<M>::message("error", "A message was refused, or the walk failed.");
    t.field("code", &M::code, "kind of error").require().one_of(error_codes());
    t.field("message", &M::message, "explanation for people").require();
    t.field("fatal", &M::fatal, "the server closes the connection").require();
    t.field("event_id", &M::event_id, "event that was refused").typed<int64_t>();
    t.field("request_id", &M::request_id, "request that was refused");
    return t;
  }();
  return made;
}

std::vector<const TableInfo*> server_message_tables() {
  return {&table_of<SessionMessage>(),    &table_of<ReceiptMessage>(),
          &table_of<FrameBatchMessage>(), &table_of<ChunkStatsMessage>(),
          &table_of<ThumbnailsMessage>(), &table_of<StateMessage>(),
          &table_of<SavedMessage>(),      &table_of<ForkedMessage>(),
          &table_of<WorldsMessage>(),     &table_of<RecordingMessage>(),
          &table_of<PongMessage>(),       &table_of<ErrorMessage>()};
}

std::vector<const TableInfo*> server_map_tables() {
  return {&table_of<ViewInfo>(),     &table_of<WorldInfo>(),     &table_of<WorldViewInfo>(),
          &table_of<CameraSpeeds>(), &table_of<SessionLimits>(), &table_of<RetainedFrame>(),
          &table_of<Revisit>(),      &table_of<Panorama>(),      &table_of<ThumbnailInfo>()};
}

}  // namespace loci::serve
