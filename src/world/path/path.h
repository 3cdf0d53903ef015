// SPDX-License-Identifier: Apache-2.0
// Camera paths like a person's: walking, turning, looking around, pausing, going back.
#pragma once

#include <string_view>

#include "loci/camera/pose.h"
#include "loci/world/path/free_space.h"

namespace loci::world {

struct PathOptions {
  int64_t frames = 321;
  double fps = 16;
  bool returns = true;      // come back to earlier views; otherwise always go on to new places
  double speed = 1.0;       // metres a second
  double turn_rate = 32;    // degrees a second
  double eye_height = 1.6;  // metres
  bool glances = true;      // look aside while walking
};

// Poses in the project's convention (y down, camera to world); the scene's ground lies at y = 0.
// The same for the same seed on every machine.
std::vector<camera::Pose> make_path(const FreeSpace& free_space, const Scene& scene, uint64_t seed,
                                    const PathOptions& options);

// The paths of the paper's set C.
enum class DesignedPath {
  kStatic,
  kStraight,
  kSpin,
  kLookAround,
  kLookAroundPitch,
  kOutAndBack,
  kSquare
};
inline constexpr int kDesignedPaths = 7;
std::string_view name_of(DesignedPath path);
DesignedPath parse_designed_path(std::string_view name);

// Starts at a viewpoint with room for the path. Always without glances; `options.returns` has no
// effect.
std::vector<camera::Pose> make_designed_path(const FreeSpace& free_space, const Scene& scene,
                                             DesignedPath path, uint64_t seed,
                                             const PathOptions& options);

}  // namespace loci::world
