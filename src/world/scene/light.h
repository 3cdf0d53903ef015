// SPDX-License-Identifier: Apache-2.0
// Precomputed light of a scene: soft shadows of the sun, occlusion of the sky, lamps. It is smooth,
// and a frame only looks it up.
#pragma once

#include <vector>

#include "loci/world/scene/scene_geometry.h"

namespace loci::world {

// The unlit ground on a square grid around the origin.
struct GroundColour {
  Float3 albedo;
  float path = 0;  // 0 meadow, 1 path
};
struct PaintedGround {
  int size = 0;           // samples per side
  float half_extent = 1;  // metres; sample 0 is at -half_extent
  std::vector<GroundColour> samples;
  Float3 far_albedo;  // beyond the grid
};

// Fills geometry.light, geometry.ground and geometry.far_ground. The hierarchy must be built and
// the light map of every surface placed, as SceneBuilder does.
void compute_light(SceneGeometry& geometry, const PaintedGround& ground);

}  // namespace loci::world
