// SPDX-License-Identifier: Apache-2.0
// Bounding-volume hierarchy over a scene's solids.
#pragma once

#include "loci/world/scene/scene_geometry.h"

namespace loci::world {

struct Bounds {
  Float3 low{1e30f, 1e30f, 1e30f}, high{-1e30f, -1e30f, -1e30f};

  void add(const Float3& p);
  void add(const Bounds& other);
  float half_area() const;
};

Bounds bounds_of(const SceneGeometry& geometry, const Solid& solid);

// Fills geometry.nodes and sorts geometry.solids in the order of the leaves (surface area
// heuristic).
void build_hierarchy(SceneGeometry& geometry);

}  // namespace loci::world
