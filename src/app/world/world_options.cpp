// SPDX-License-Identifier: Apache-2.0
#include "loci/app/world/world_options.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "loci/app/cli/help.h"
#include "loci/app/tools/models.h"
#include "loci/base/error.h"
#include "loci/base/pixel_size.h"
#include "loci/base/text.h"
#include "loci/camera/path/resample.h"
#include "loci/sample/model_folder.h"

namespace loci::app {

namespace {

int64_t whole_number(std::string_view text, std::string_view what) {
  const auto value = parse_int(text);
  if (!value) fail("{}: '{}' is not an integer", what, text);
  return *value;
}

// Frame size, frame rate, lens and family of a model folder.
void follow_model(world::ClipOptions& options, const std::string& model) {
  const std::filesystem::path folder = find_model(model);
  if (!std::filesystem::is_directory(folder)) fail("--for: {} is not a model folder", model);
  const auto defaults = sample::GenerationDefaults::load(folder);
  options.width = static_cast<int>(defaults.width);
  options.height = static_cast<int>(defaults.height);
  options.fps = defaults.fps;
  options.fov = defaults.fov;
  options.scene.style = world::parse_family(defaults.family, folder.string());
}

}  // namespace

world::ClipOptions WorldCommandOptions::clip_options() const {
  world::ClipOptions o = clip;
  if (!model.empty()) follow_model(o, model);
  if (size) {
    const PixelSize pixels = parse_pixel_size(*size, "--size", {.least = 8, .most = 8192});
    o.width = static_cast<int>(pixels.width);
    o.height = static_cast<int>(pixels.height);
  }
  if (fps) o.fps = *fps;
  if (fov) o.fov = *fov;
  if (seconds) {
    // Whole latents after the first frame.
    const auto latents = std::llround(*seconds * o.fps / camera::kFramesPerLatent);
    o.frames = camera::kPathGrid.frames_in_latents(1 + latents);
  }
  o.split = world::parse_split(split);
  if (style) o.scene.style = world::parse_style(*style);
  if (!time.empty()) o.scene.time = world::parse_time(time);
  if (!weather.empty()) o.scene.weather = world::parse_weather(weather);
  if (path == "designed") {
    for (int i = 0; i < world::kDesignedPaths; ++i)
      o.designed.push_back(static_cast<world::DesignedPath>(i));
  } else if (path == "tour") {
    o.tour = true;
  } else if (path != "walk") {
    o.designed = {world::parse_designed_path(path)};
  }
  return o;
}

void add_world_options(CLI::App& app, WorldCommandOptions& o) {
  app.add_option("--seed", o.seed,
                 "seed of scenes and trajectories; the same seed gives the same bytes")
      ->type_name("N")
      ->check(seed_number())
      ->capture_default_str();
  app.add_option("--for", o.model,
                 "model folder: scenes of its family, with its frame size, frame rate and lens, "
                 "unless other options name them")
      ->type_name("DIR");
  app.add_option("--size", o.size, "frame size in pixels (default: 192x128, or that of --for)")
      ->type_name("WxH");
  app.add_option("--frames", o.clip.frames, "number of frames per clip")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--seconds", o.seconds, "length of a clip in seconds; replaces --frames")
      ->type_name("S")
      ->check(number_in(0.1, 36000.0));
  app.add_option("--fps", o.fps, "frames per second (default: 16, or those of --for)")
      ->type_name("N")
      ->check(number_in(1.0, 240.0));
  app.add_option("--fov", o.fov,
                 "horizontal field of view in degrees (default: 75, or that of --for)")
      ->type_name("DEG")
      ->check(number_in(10.0, 300.0));
  app.add_option("--xi", o.clip.xi,
                 "distortion parameter of the unified camera model, 0 (pinhole) to 1")
      ->type_name("X")
      ->check(number_in(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--samples", o.clip.samples, "samples per pixel, doubled at edges")
      ->type_name("N")
      ->check(CLI::Range(1, 4))
      ->capture_default_str();
  app.add_option("--split", o.split, "dataset split of the scenes")
      ->check(one_of({"train", "test", "held-out"}))
      ->capture_default_str();
  app.add_option("--style", o.style,
                 "style of the scenes (default: the family of --for, or all styles of the split "
                 "except plaza)")
      ->check(one_of(
          {"town", "courtyard", "forest", "desert", "interior", "ruins", "garden", "plaza"}));
  app.add_option("--time", o.time, "time of day (default: all)")
      ->check(one_of({"day", "dusk", "night"}));
  app.add_option("--weather", o.weather, "weather (default: all)")
      ->check(one_of({"clear", "fog", "snow"}));
  app.add_option("--path", o.path,
                 "trajectory of the camera; tour shows the whole scene and then walks (only "
                 "plaza), designed cycles through all but walk and tour")
      ->check(one_of({"walk", "tour", "static", "straight", "spin", "look-around",
                      "look-around-pitch", "out-and-back", "square", "designed"}))
      ->capture_default_str();
  app.add_option("--speed", o.clip.speed,
                 "walking speed in metres per second (default: that of the style)")
      ->type_name("V")
      ->check(number_in(0.05, 20.0));
  app.add_option("--turn-rate", o.clip.turn_rate,
                 "turn rate in degrees per second (default: that of the style)")
      ->type_name("V")
      ->check(number_in(1.0, 360.0));
  app.add_option("--revisits", o.clip.revisit_share,
                 "share of clips whose trajectory returns to earlier views, 0 to 1")
      ->type_name("P")
      ->check(number_in(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--clips-per-scene", o.clip.clips_per_scene,
                 "number of consecutive clips in the same scene")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
}

void add_shard_option(CLI::App& app, std::string& text) {
  app.add_option(
         "--shard", text,
         "process shard I of N, such as 0/4 (default: RANK and WORLD_SIZE, or srun's variables)")
      ->type_name("I/N");
}

Shard parse_shard(const std::string& text) {
  Shard shard;
  // torchrun sets the first pair, a job step of srun the second. A Slurm batch script itself has no
  // number of tasks.
  constexpr std::pair<const char*, const char*> kLaunchers[] = {
      {"RANK", "WORLD_SIZE"}, {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
  if (!text.empty()) {
    const size_t slash = text.find('/');
    if (slash == std::string::npos)
      fail("--shard: '{}' is malformed; expected I/N, such as 0/4", text);
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
    fail("shard {}/{} is out of range; expected I/N with 0 <= I < N", shard.index, shard.count);
  }
  return shard;
}

}  // namespace loci::app
