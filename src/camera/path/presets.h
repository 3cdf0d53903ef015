// SPDX-License-Identifier: Apache-2.0
// Designed camera paths with smooth speeds.
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
  double angle;     // default, degrees; 0 when the preset has no angle to choose
  double distance;  // default, metres; 0 likewise
};

std::vector<Preset> presets();

struct PresetOptions {
  std::optional<double> seconds;   // default: 20 s, or as long as trained speeds need
  std::optional<double> angle;     // degrees
  std::optional<double> distance;  // metres
  double fps = 16;
  double fov_x = std::numbers::pi / 2;
};

// One pose per video frame, from the identity on: 1 + 20k frames, so that the latents fill whole
// chunks. The path takes the seconds asked for even when that is faster than trained.
Trajectory make_preset(std::string_view name, const PresetOptions& options = {});

}  // namespace loci::camera
