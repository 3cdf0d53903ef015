// SPDX-License-Identifier: Apache-2.0
// The directions that a camera sees, and the share of them that other cameras see too.
#pragma once

#include <bitset>
#include <span>

#include "loci/camera/camera.h"

namespace loci::camera {

inline constexpr int kSphereDirections = 4096;

// Direction n of a Fibonacci sphere, a unit vector in world axes; n from 0 to kSphereDirections
// - 1.
Vec3 sphere_direction(int n);

// Bit n is set for sphere_direction(n).
using DirectionSet = std::bitset<kSphereDirections>;

struct VisibleDirections {
  DirectionSet directions;
  Vec3 position;  // of the camera
};

// The directions inside the image of a pinhole camera (xi is ignored). `aspect` = width / height of
// the image, used if the lens has no vertical focal length of its own.
VisibleDirections visible_directions(const Camera& camera, double aspect);

// The share, from 0 to 1, of the directions of `seen` that are also in one of `others` whose camera
// is closer than `radius` metres. 0 if `seen` has no directions.
double coverage(const VisibleDirections& seen, std::span<const VisibleDirections* const> others,
                double radius);

}  // namespace loci::camera
