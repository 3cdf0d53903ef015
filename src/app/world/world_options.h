// SPDX-License-Identifier: Apache-2.0
// Options of all subcommands of `loci world`: scenes, clips and shards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "loci/world/clip/clip_maker.h"

namespace loci::app {

struct WorldCommandOptions {
  uint64_t seed = 0;
  // Values that are not set are those of the model folder `model`, or else the defaults of
  // ClipOptions.
  std::string model;
  std::optional<std::string> size, style;
  std::optional<double> fps, fov;
  std::optional<double> seconds;
  world::ClipOptions clip;
  std::string split = "train", time, weather, path = "walk";

  world::ClipOptions clip_options() const;
};
void add_world_options(CLI::App& app, WorldCommandOptions& options);

// Part `index` of a job that is divided into `count` parts.
struct Shard {
  int64_t index = 0, count = 1;
};
void add_shard_option(CLI::App& app, std::string& text);
// Parses "I/N". An empty text means the variables RANK and WORLD_SIZE, or those of srun; without
// them the shard is the whole job.
Shard parse_shard(const std::string& text);

}  // namespace loci::app
