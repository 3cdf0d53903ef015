// SPDX-License-Identifier: Apache-2.0
// Light computed once per world and stored: soft shadows of the sun, occlusion of the sky, lamps.
// Stored light is smooth and costs a frame nothing but a lookup.
#pragma once

#include <functional>

#include "loci/world/scene.h"

namespace loci::world {

// Colour of the ground before light, and how much of the path's pattern shows there.
struct GroundColour {
  Float3 albedo;
  float path = 0;  // 0 meadow, 1 path
};
using GroundPainter = std::function<GroundColour(float x, float z)>;

// Fills scene.light, scene.ground and scene.far_ground. The hierarchy must be built and every
// surface's map placed (SceneBuilder does it).
void compute_light(Scene& scene, const GroundPainter& painter);

}  // namespace loci::world
