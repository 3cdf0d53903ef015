// SPDX-License-Identifier: Apache-2.0
// Options that the children of `loci world` share: which worlds, which clips, which part of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "loci/world/clip/clip_maker.h"

namespace loci::app {

struct WorldCommandOptions {
  uint64_t seed = 0;
  std::string size = "192x128";
  std::optional<double> seconds;
  world::ClipOptions clip;
  std::string split = "train", style, time, weather, path = "walk";

  world::ClipOptions clip_options() const;
};
void add_world_options(CLI::App& app, WorldCommandOptions& options);

// One part of a divided job.
struct Shard {
  int64_t index = 0, count = 1;
};
void add_shard_option(CLI::App& app, std::string& text);
// "i/n"; when empty RANK and WORLD_SIZE of a launcher, or srun's own; without these everything.
Shard parse_shard(const std::string& text);

}  // namespace loci::app
