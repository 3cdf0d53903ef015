// SPDX-License-Identifier: Apache-2.0
// What `loci generate` is asked for, and the run itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace loci::app {

// Options that are not given follow the loaded world, else the model folder's generation.json.
struct GenerateOptions {
  std::string model;
  std::string image, context, load_world;  // one of them
  std::optional<double> context_seconds;
  bool keep_context = false;
  std::string trajectory;
  std::optional<std::string> prompt, negative;
  std::optional<double> seconds;
  std::string size;
  std::optional<double> fov;  // degrees

  std::optional<std::string> history, kv, readout, solver;
  std::optional<int64_t> history_frames, archive, staging_mib, steps, tile;
  std::optional<double> shift, guidance;
  std::optional<uint64_t> seed;
  std::string dtype = "fp32";

  std::string out;
  std::string save_world;
  bool preview = false;
  bool resume = false;
};

// Writes the video, <out>.json beside it (everything needed to repeat it, and the frames each chunk
// saw) and <out>.latents/ (the latents as they come).
void generate(const GenerateOptions& options);

}  // namespace loci::app
