// SPDX-License-Identifier: Apache-2.0
#include "loci/app/generate/generate_path.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "loci/base/choice.h"
#include "loci/base/error.h"
#include "loci/base/text.h"
#include "loci/camera/path/presets.h"
#include "loci/camera/path/resample.h"
#include "loci/camera/path/trajectory_io.h"

namespace loci::app {

namespace {

camera::Trajectory read(const std::string& input, double fps, double fov_degrees,
                        std::optional<double> seconds, double max_seconds) {
  std::vector<std::string> names;
  for (const camera::Preset& preset : camera::presets()) {
    names.emplace_back(preset.name);
    if (preset.name != input) continue;
    camera::PresetOptions options;
    options.seconds = seconds;
    options.fps = fps;
    options.fov_x = camera::radians(fov_degrees);
    return camera::make_preset(input, options);
  }
  std::error_code ignored;
  // Every key string has a number of frames.
  const bool key_string = input.find_first_of("0123456789") != std::string::npos;
  if (!std::filesystem::exists(input, ignored) && (!key_string || !nearest(input, names).empty())) {
    fail("cannot read {}: no such file or folder; {}; or give a key string such as w-32,left-16",
         input, unknown_choice("preset", input, names));
  }
  camera::ReadOptions options;
  options.fov_x = camera::radians(fov_degrees);
  options.video_fps = fps;
  options.max_seconds = max_seconds;
  return camera::load_trajectory(input, options).trajectory;
}

}  // namespace

std::vector<camera::Camera> read_latent_path(const std::string& input, double fps,
                                             const camera::TimeGrid& grid, double fov_degrees,
                                             std::optional<double> seconds) {
  // The generated length is rounded up to whole chunks.
  const double chunk_seconds = static_cast<double>(grid.frames_per_chunk()) / fps;
  const double max_seconds = seconds ? *seconds + 2 * chunk_seconds : camera::kWholePath;
  camera::Trajectory path = read(input, fps, fov_degrees, seconds, max_seconds);
  if (path.frames_per_pose != 1) path = camera::frame_poses(path, max_seconds);
  if (path.fps != fps) path = camera::resample(path, fps, max_seconds);
  std::vector<camera::Camera> latents = camera::latent_cameras(path.cameras, grid);
  if (latents.size() < 2) {
    fail("the trajectory '{}' has {} poses at {} frames per second; it needs at least {}", input,
         path.cameras.size(), fps, grid.frames_in_latents(2));
  }
  return latents;
}

std::vector<camera::Camera> continued(std::span<const camera::Camera> path,
                                      const camera::Pose& from, size_t count) {
  std::vector<camera::Camera> out;
  const camera::Pose place = from * path.front().pose.inverse();
  for (size_t i = 1; i <= count; ++i) {
    const size_t at = std::min(i, path.size() - 1);
    out.push_back({place * path[at].pose, path[at].lens});
  }
  return out;
}

}  // namespace loci::app
