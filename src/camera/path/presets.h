// SPDX-License-Identifier: Apache-2.0
// Predefined camera paths with smooth speeds.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loci/camera/trajectory.h"

namespace loci::camera {

struct Preset {
  std::string_view name;
  std::string_view summary;
  double angle;     // default, degrees; 0 if the preset has no angle
  double distance;  // default, metres; 0 if the preset has no distance
};

std::vector<Preset> presets();

struct PresetOptions {
  std::optional<double> seconds;   // default: 20 s, or longer if the training speeds require it
  std::optional<double> angle;     // degrees
  std::optional<double> distance;  // metres
  double fps = 16;
  double fov_x = std::numbers::pi / 2;
};

// One camera per video frame, starting at the identity: 1 + 20k frames, so that the latents fill
// whole chunks. The path takes the given seconds even if it is then faster than the training data.
Trajectory make_preset(std::string_view name, const PresetOptions& options = {});

}  // namespace loci::camera
