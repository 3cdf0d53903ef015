// SPDX-License-Identifier: Apache-2.0
// The messages that the server sends over the WebSocket, and the maps in them. The tables in
// server_messages.cpp define their fields; docs/protocol.md is generated from them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "loci/serve/protocol/protocol.h"
#include "loci/serve/protocol/table.h"

namespace loci::serve {

// One view of a walk.
struct ViewInfo {
  std::string model, history;
  int64_t history_frames = 0;
  std::string readout;
  int64_t steps = 0;
  bool recurrent = false;
  int64_t frame_budget = 0;  // latents that a chunk attends to at most; 0 = grows with the walk
};

struct WorldViewInfo {
  std::string model, history;
};

// A stored world.
struct WorldInfo {
  std::string id, kind, name;
  int64_t created_at = 0, updated_at = 0;  // Unix time, seconds
  int64_t chunks = 0, latents = 0;
  double seconds = 0;
  std::array<int64_t, 2> size{};
  std::string prompt, seed;
  std::optional<std::string> parent;
  std::vector<WorldViewInfo> views;
  bool open = false;
  uint64_t bytes = 0;
  std::string picture;
};

struct CameraSpeeds {
  double move = 0, turn = 0, pitch_limit = 0;  // m/s, degrees/s, degrees
};

struct SessionLimits {
  uint64_t message_bytes = 0;
  int64_t sessions = 0;
  double idle_seconds = 0;
};

struct SessionMessage {
  int64_t protocol = kProtocol;
  std::string world, name;
  bool resumed = false;
  int64_t next_chunk = 0, latents = 0;
  camera::Pose pose;
  std::string prompt, seed;
  std::array<int64_t, 2> size{};
  double fps = 0;
  int64_t chunk_latents = 0, frames_per_latent = 0;
  double fov = 0;  // horizontal, degrees
  CameraSpeeds camera;
  std::vector<ViewInfo> views;
  std::vector<camera::Pose> path;
  int64_t path_first = 0;
  bool recording = false;
  SessionLimits limits;
};

struct ReceiptMessage {
  int64_t event_id = 0;
  std::string kind, status;  // status: "received" or "applied"
  std::optional<int64_t> chunk_index;
};

struct FrameBatchMessage {
  int64_t view = 0, chunk_index = 0;
  int64_t num_frames = 1, frame_index = 0;  // video frames since the start of the world
  int64_t frame_batch_index = 0, num_frame_batches = 1;
  bool is_final_frame_batch = true;
  std::string content_type, encoding;
  int64_t width = 0, height = 0, channels = 3;
  std::vector<uint64_t> payload_lengths;
  Bytes payload;
  std::optional<int64_t> event_id;

  void set_raw(bool raw) {
    content_type = raw ? "application/octet-stream" : "image/jpeg";
    encoding = raw ? "raw" : "jpeg";
  }
};

// A latent frame that the next chunk may attend to.
struct RetainedFrame {
  int64_t frame = 0;
  std::string kind;  // "sink", "bank" or "recent"
  camera::Pose pose;
  bool seen = false;  // by the newest chunk
};

struct Revisit {
  int64_t frame = 0;
  double overlap = 0;
};

struct Panorama {
  double share = 0;
  Bytes mask;
};

// The memory of a view, as chunk_stats shows it.
struct MemoryStats {
  int64_t memory_bytes = 0;
  std::vector<RetainedFrame> retained;
  int64_t retained_total = 0;
  std::optional<Revisit> revisited;
  Panorama panorama;
  std::optional<double> retention, state_norm;
  std::vector<double> state_norms;
};

// The cost of a chunk, in milliseconds unless the name says otherwise.
struct ChunkTimes {
  double forward = 0, commit = 0, encode = 0, store = 0, total = 0, interval = 0, queue = 0;
  std::optional<double> control_latency;
  double frame = 0;
  uint64_t payload_bytes = 0;
};

struct ChunkStatsMessage {
  int64_t view = 0, chunk_index = 0, num_frames = 0, first_latent = 0;
  std::vector<camera::Pose> poses;
  std::optional<int64_t> event_id;
  std::optional<ChunkTimes> times;  // absent when `replayed`
  int64_t queue_length = 0, dropped_frames = 0;
  MemoryStats memory;
  uint64_t process_bytes = 0;
  bool given = false, replayed = false;
};

struct ThumbnailInfo {
  int64_t frame = 0;
  Bytes jpeg;
};

struct ThumbnailsMessage {
  int64_t view = 0;
  std::vector<ThumbnailInfo> frames;
};

struct StateMessage {
  std::string state;  // "starting", "running" or "paused"
  std::optional<std::string> reason;
  std::optional<double> progress;  // 0 to 1
  int64_t queue_length = 0;
  std::optional<std::vector<ViewInfo>> views;
};

struct SavedMessage {
  WorldInfo world;
  Json request_id;
};

struct ForkedMessage {
  WorldInfo world;
  bool switched = false;
  Json request_id;
};

struct WorldsMessage {
  std::vector<WorldInfo> worlds;
  Json request_id;
};

struct RecordingMessage {
  std::string state;  // "started" or "saved"
  std::optional<std::string> video, url;
  std::optional<int64_t> frames;
  std::optional<double> seconds;
  Json request_id;
};

struct PongMessage {};

struct ErrorMessage {
  std::string code, message;
  bool fatal = false;
  Json event_id, request_id;
};

// Tables of all server messages, and of the maps in them and in answers of HTTP routes.
std::vector<const TableInfo*> server_message_tables();
std::vector<const TableInfo*> server_map_tables();

template <>
const Table<ViewInfo>& table_of();
template <>
const Table<WorldViewInfo>& table_of();
template <>
const Table<WorldInfo>& table_of();
template <>
const Table<CameraSpeeds>& table_of();
template <>
const Table<SessionLimits>& table_of();
template <>
const Table<SessionMessage>& table_of();
template <>
const Table<ReceiptMessage>& table_of();
template <>
const Table<FrameBatchMessage>& table_of();
template <>
const Table<RetainedFrame>& table_of();
template <>
const Table<Revisit>& table_of();
template <>
const Table<Panorama>& table_of();
template <>
const Table<MemoryStats>& table_of();
template <>
const Table<ChunkTimes>& table_of();
template <>
const Table<ChunkStatsMessage>& table_of();
template <>
const Table<ThumbnailInfo>& table_of();
template <>
const Table<ThumbnailsMessage>& table_of();
template <>
const Table<StateMessage>& table_of();
template <>
const Table<SavedMessage>& table_of();
template <>
const Table<ForkedMessage>& table_of();
template <>
const Table<WorldsMessage>& table_of();
template <>
const Table<RecordingMessage>& table_of();
template <>
const Table<PongMessage>& table_of();
template <>
const Table<ErrorMessage>& table_of();

}  // namespace loci::serve
