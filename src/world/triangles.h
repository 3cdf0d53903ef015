// SPDX-License-Identifier: Apache-2.0
// A scene as triangles, for tracers that know nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "loci/world/scene/scene_geometry.h"

namespace loci::world {

struct Triangles {
  std::vector<Float3> points;
  std::vector<std::array<uint32_t, 3>> faces;
};

// All solids, round ones with `segments` around, and the ground as a square of 20 km.
Triangles triangulate(const SceneGeometry& scene, int segments = 16);

}  // namespace loci::world
