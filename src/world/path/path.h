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
  Motion motion;            // usually that of the scene's style
  double eye_height = 1.6;  // metres
  bool glances = true;      // look aside while moving
};

// A random path: one pose per frame, camera-to-world with y down; the scene's ground is at y = 0.
// It is determined by its arguments, bit by bit, on every machine.
std::vector<camera::Pose> make_path(const FreeSpace& free_space, const Scene& scene, uint64_t seed,
                                    const PathOptions& options);

// A tour that shows the whole scene and ends where it began, then a random path that returns to
// views of the tour. A scene without a tour (Scene::tour_radius) is bad input.
std::vector<camera::Pose> make_tour(const FreeSpace& free_space, const Scene& scene, uint64_t seed,
                                    const PathOptions& options);
// Length of the tour alone.
inline constexpr double kTourSeconds = 25;

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
