// SPDX-License-Identifier: Apache-2.0
// One chunk of a world on disk: latents, poses, and the settings that it was generated with. The
// memory of a view can be rebuilt from these records alone.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"
#include "loci/camera/camera.h"
#include "loci/memory/history/history_registry.h"
#include "loci/sample/solvers/solver.h"

namespace loci::serve {

// Settings of a view; they may change from chunk to chunk.
struct ViewSettings {
  memory::HistoryOptions history;
  sample::SolverOptions solver;
  std::string readout = "on";
  bool reset = false;  // the recurrent states were reset just before this chunk

  Json to_json() const;
  static ViewSettings from_json(const Json& json, const std::string& where);
};

struct ChunkRecord {
  int64_t index = 0;
  std::vector<camera::Camera> cameras;  // one per latent
  std::string prompt, negative;
  bool recorded = false;  // the start picture or a part of a tour, not generated
  struct View {
    ViewSettings settings;
    at::Tensor latents;                   // [1, C, F, h, w]
    std::vector<std::string> thumbnails;  // JPEG, one per latent
    std::string newest;                   // the last frame as JPEG, in full size
  };
  std::vector<View> views;
};

// Writes the file atomically and flushes it to disk.
void write_chunk(const std::filesystem::path& file, const ChunkRecord& record);
// A file that is not a chunk record is bad input.
ChunkRecord read_chunk(const std::filesystem::path& file);

}  // namespace loci::serve
