// SPDX-License-Identifier: Apache-2.0
// Options and run of `loci generate`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace loci::app {

// Options that are not set follow the loaded world, or else the generation.json of the model
// folder.
struct GenerateOptions {
  std::string model, decoder;
  std::string image, context, load_world;  // exactly one is set
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

// Writes the video, <out>.json (all inputs needed to repeat the run, and the frames that each chunk
// attended to) and <out>.latents/ (the latents of each chunk as soon as it is done).
void generate(const GenerateOptions& options);

}  // namespace loci::app
