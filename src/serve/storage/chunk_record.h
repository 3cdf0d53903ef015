// SPDX-License-Identifier: Apache-2.0
// One chunk of a walk on disk: its latents, its poses, and the settings under which it was made, so
// that memories can be built again from the records alone.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"
#include "loci/camera/pose.h"
#include "loci/memory/history/history_policy.h"
#include "loci/sample/solvers/solver.h"

namespace loci::serve {

// What may differ between the views of a walk, and from chunk to chunk.
struct ViewSettings {
  memory::HistoryOptions history;
  sample::SolverOptions solver;
  std::string readout = "on";
  bool reset = false;  // states were forgotten just before this chunk

  Json to_json() const;
  static ViewSettings from_json(const Json& json, const std::string& where);
};

struct ChunkRecord {
  int64_t index = 0;
  std::vector<camera::Pose> poses;  // one per latent
  std::vector<camera::Lens> lenses;
  std::string prompt, negative;
  bool given = false;  // shown to the models, not made by them
  struct View {
    ViewSettings settings;
    at::Tensor latents;                   // [1, C, F, h, w]
    std::vector<std::string> thumbnails;  // JPEG, one per latent
    std::string newest;                   // JPEG, the last frame in full size
  };
  std::vector<View> views;
};

// The file appears whole, flushed to disk.
void write_chunk(const std::filesystem::path& file, const ChunkRecord& record);
// What is no such file is bad input.
ChunkRecord read_chunk(const std::filesystem::path& file);

}  // namespace loci::serve
