// SPDX-License-Identifier: Apache-2.0
// Converts a scene to triangles for Embree.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "loci/world/scene/scene_geometry.h"

namespace loci::app {

struct Triangles {
  std::vector<world::Float3> points;
  std::vector<std::array<uint32_t, 3>> faces;
};

// All solids, with `segments` around the axis of round ones, and the ground as a square of 20 km.
Triangles triangulate(const world::SceneGeometry& scene, int segments = 16);

}  // namespace loci::app
