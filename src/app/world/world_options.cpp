// SPDX-License-Identifier: Apache-2.0
#include "loci/app/world/world_options.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "loci/base/error.h"
#include "loci/base/text.h"

namespace loci::app {

namespace {

int64_t whole_number(std::string_view text, std::string_view what) {
  const auto value = parse_int(text);
  if (!value) fail("{}: '{}' is not a whole number", what, text);
  return *value;
}

}  // namespace

world::ClipOptions WorldCommandOptions::clip_options() const {
  world::ClipOptions o = clip;
  const size_t cross = size.find('x');
  const auto width = parse_int(std::string_view(size).substr(0, cross));
  const auto height = cross == std::string::npos
                          ? std::nullopt
                          : parse_int(std::string_view(size).substr(cross + 1));
  if (!width || !height || *width < 8 || *height < 8 || *width > 8192 || *height > 8192) {
    fail("--size: '{}' is not of the form 192x128", size);
  }
  o.width = static_cast<int>(*width);
  o.height = static_cast<int>(*height);
  // One frame more than whole latents of four, as the video codec wants it.
  if (seconds) o.frames = std::max<int64_t>(1, std::llround(*seconds * o.fps / 4) * 4 + 1);
  o.split = world::parse_split(split);
  if (!style.empty()) o.scene.style = world::parse_style(style);
  if (!time.empty()) o.scene.time = world::parse_time(time);
  if (!weather.empty()) o.scene.weather = world::parse_weather(weather);
  if (path == "designed") {
    for (int i = 0; i < world::kDesignedPaths; ++i)
      o.designed.push_back(static_cast<world::DesignedPath>(i));
  } else if (path != "walk") {
    o.designed = {world::parse_designed_path(path)};
  }
  return o;
}

void add_world_options(CLI::App& app, WorldCommandOptions& o) {
  app.add_option("--seed", o.seed, "names the dataset; the same seed gives the same bytes")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--size", o.size, "pixels")->type_name("WxH")->capture_default_str();
  app.add_option("--frames", o.clip.frames, "frames of a clip")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--seconds", o.seconds, "length of a clip instead of --frames")
      ->type_name("S")
      ->check(CLI::Range(0.1, 36000.0));
  app.add_option("--fps", o.clip.fps, "frames a second")
      ->type_name("N")
      ->check(CLI::Range(1.0, 240.0))
      ->capture_default_str();
  app.add_option("--fov", o.clip.fov, "horizontal field of view")
      ->type_name("DEG")
      ->check(CLI::Range(10.0, 300.0))
      ->capture_default_str();
  app.add_option("--xi", o.clip.xi, "fisheye of the unified camera model, 0 to 1; 0 is a pinhole")
      ->type_name("X")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--samples", o.clip.samples, "samples a pixel, twice as many at edges")
      ->type_name("N")
      ->check(CLI::Range(1, 4))
      ->capture_default_str();
  app.add_option("--split", o.split, "whose worlds")
      ->check(CLI::IsMember({"train", "test", "held-out"}))
      ->capture_default_str();
  app.add_option("--style", o.style, "one kind of world; all kinds of the split if not given")
      ->check(
          CLI::IsMember({"town", "courtyard", "forest", "desert", "interior", "ruins", "garden"}));
  app.add_option("--time", o.time, "one time of day")
      ->check(CLI::IsMember({"day", "dusk", "night"}));
  app.add_option("--weather", o.weather, "one weather")
      ->check(CLI::IsMember({"clear", "fog", "snow"}));
  app.add_option("--path", o.path, "how the camera moves; designed = all but walk, in turn")
      ->check(CLI::IsMember({"walk", "static", "straight", "spin", "look-around",
                             "look-around-pitch", "out-and-back", "square", "designed"}))
      ->capture_default_str();
  app.add_option("--revisits", o.clip.revisit_share,
                 "share of walks that come back to earlier views")
      ->type_name("P")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--clips-per-world", o.clip.clips_per_scene, "clips in a row that share a world")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
}

void add_shard_option(CLI::App& app, std::string& text) {
  app.add_option("--shard", text,
                 "part i of n only, e.g. 0/4; default RANK and WORLD_SIZE, or srun's")
      ->type_name("I/N");
}

Shard parse_shard(const std::string& text) {
  Shard shard;
  // Of torchrun, and of a step that srun started; a batch script itself has no number of tasks.
  constexpr std::pair<const char*, const char*> kLaunchers[] = {
      {"RANK", "WORLD_SIZE"}, {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
  if (!text.empty()) {
    const size_t slash = text.find('/');
    if (slash == std::string::npos) fail("--shard: '{}' is not of the form 0/4", text);
    shard.index = whole_number(std::string_view(text).substr(0, slash), "--shard");
    shard.count = whole_number(std::string_view(text).substr(slash + 1), "--shard");
  } else {
    for (const auto& [rank, size] : kLaunchers) {
      if (std::getenv(rank) == nullptr || std::getenv(size) == nullptr) continue;
      shard.index = whole_number(std::getenv(rank), rank);
      shard.count = whole_number(std::getenv(size), size);
      break;
    }
  }
  if (shard.count < 1 || shard.index < 0 || shard.index >= shard.count) {
    fail("shard {}/{}: it must be a part i of n with 0 <= i < n", shard.index, shard.count);
  }
  return shard;
}

}  // namespace loci::app
