// SPDX-License-Identifier: Apache-2.0
// Which directions of the sphere a frame sees, and how much of one frame's view others cover.
#pragma once

#include <bitset>
#include <span>
#include <vector>

#include "loci/camera/camera.h"

namespace loci::camera {

inline constexpr int kSphereDirections = 4096;

// Directions (a Fibonacci sphere in world axes) inside the pinhole view of a frame.
using ViewMask = std::bitset<kSphereDirections>;

// Direction n of the sphere.
Vec3 sphere_direction(int n);

// `aspect` = width / height, for a lens without its own vertical focal length.
ViewMask view_mask(const Pose& pose, const Lens& lens, double aspect);

// A frame as the bank sees it.
struct View {
  ViewMask mask;
  Vec3 position;
};

// Share of `view`'s directions seen by those of `others` that stand closer than `radius` metres.
// A view without directions counts as covered.
double coverage(const View& view, std::span<const View* const> others, double radius);

}  // namespace loci::camera
