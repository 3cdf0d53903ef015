// SPDX-License-Identifier: Apache-2.0
// Bodies and queries of HTTP requests, and the maps that their answers hold. Worlds are in
// server_messages.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loci/serve/protocol/client_messages.h"

namespace loci::serve {

// `POST /v1/videos`.
struct CreateVideo {
  WorldSettings settings;                     // without a second view and without a tour
  std::optional<FirstFrame> input_reference;  // takes precedence over settings.first_frame
  std::optional<std::string> world;
  double seconds = 4;
  std::optional<int64_t> num_frames;
  std::string action = "none-1";
};

// `POST /v1/worlds/{id}`.
struct RenameWorld {
  std::string name;
};

// `GET /v1/videos`.
struct VideoQuery {
  int64_t limit = 20;
  std::string after;
  std::string order = "desc";
};

// `GET /v1/starts/{id}/path`.
struct PathQuery {
  double fps = 16;
};

// Why a video failed.
struct VideoError {
  std::string code, message;
};

// A video, as it is stored and as `GET /v1/videos/{id}` gives it.
struct VideoInfo {
  std::string id;
  std::string status = "queued";  // then "in_progress", then "completed" or "failed"
  int64_t progress = 0;           // 0 to 100
  int64_t created_at = 0;         // Unix time, seconds, as the next two
  std::optional<int64_t> completed_at, expires_at;
  std::optional<int64_t> created_us;  // Unix time, microseconds
  std::optional<std::string> model, size, seconds, prompt;
  int64_t frames = 0;
  std::optional<VideoError> error;
  std::optional<std::string> world;  // of a recording
};

// `GET /v1/models`.
struct ModelDetails {
  std::array<int64_t, 2> size{};
  double fps = 0, fov = 0;
  int64_t steps = 0;
  std::string solver;
  double guidance = 1;
  std::string history;
  std::vector<std::string> histories, solvers, readouts;
  int64_t chunk_latents = 0, frames_per_latent = 0;
  uint64_t parameters = 0;
  bool recurrent = false, text = false;
  std::optional<std::string> family;
};
struct ModelInfo {
  std::string id;
  int64_t created = 0;  // Unix time, seconds
  ModelDetails loci;
};

// `GET /v1/starts`.
struct StartInfo {
  std::string id, kind, title, prompt;
  std::optional<std::string> style, path;
  std::optional<double> tour_seconds;
  std::string picture;
};

std::vector<const TableInfo*> http_tables();

template <>
const Table<CreateVideo>& table_of();
template <>
const Table<RenameWorld>& table_of();
template <>
const Table<VideoQuery>& table_of();
template <>
const Table<PathQuery>& table_of();
template <>
const Table<VideoError>& table_of();
template <>
const Table<VideoInfo>& table_of();
template <>
const Table<ModelDetails>& table_of();
template <>
const Table<ModelInfo>& table_of();
template <>
const Table<StartInfo>& table_of();

}  // namespace loci::serve
