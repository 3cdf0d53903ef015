// SPDX-License-Identifier: Apache-2.0
// Light computed once per world and stored: soft shadows of the sun, occlusion of the sky, lamps.
// Stored light is smooth and costs a frame nothing but a lookup.
#pragma once

#include <vector>

#include "loci/world/scene/scene_geometry.h"

namespace loci::world {

// The ground before light, on a square grid around the origin.
struct GroundColour {
  Float3 albedo;
  float path = 0;  // 0 meadow, 1 path
};
struct PaintedGround {
  int size = 0;           // samples a side
  float half_extent = 1;  // metres; sample 0 lies at -half_extent
  std::vector<GroundColour> samples;
  Float3 far_albedo;  // beyond
};

// Fills scene.light, scene.ground and scene.far_ground. The hierarchy must be built and every
// surface's map placed (SceneBuilder does it).
void compute_light(SceneGeometry& geometry, const PaintedGround& ground);

}  // namespace loci::world
