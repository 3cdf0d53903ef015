// SPDX-License-Identifier: Apache-2.0
// Camera paths through a scene, as of a person with a camera: moving, turning, looking around,
// pausing, returning.
#pragma once

#include <string_view>

#include "loci/camera/pose.h"
#include "loci/world/path/free_space.h"

namespace loci::world {

struct PathOptions {
  int64_t frames = 321;
  double fps = 16;
  bool returns = true;      // return to earlier views; otherwise always move on to new places
  double speed = 1.0;       // metres per second
  double turn_rate = 32;    // degrees per second
  double eye_height = 1.6;  // metres
  bool glances = true;      // look aside while moving
};

// A random path: one pose per frame, camera-to-world with y down; the scene's ground is at y = 0.
// It is determined by its arguments, bit by bit, on every machine.
std::vector<camera::Pose> make_path(const FreeSpace& free_space, const Scene& scene, uint64_t seed,
                                    const PathOptions& options);

// The fixed paths of the paper's test set C.
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

// The path starts at a viewpoint with enough free space. `options.glances` and `options.returns`
// have no effect.
std::vector<camera::Pose> make_designed_path(const FreeSpace& free_space, const Scene& scene,
                                             DesignedPath path, uint64_t seed,
                                             const PathOptions& options);

}  // namespace loci::world
