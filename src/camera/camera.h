// SPDX-License-Identifier: Apache-2.0
// A camera: its position and orientation (pose) and its mapping of directions to pixels (lens).
#pragma once

#include <array>
#include <numbers>
#include <optional>
#include <span>
#include <vector>

#include "loci/camera/pose.h"

namespace loci::camera {

// Horizontal field of view and the unified camera model's xi (0 = pinhole). lens.h converts from
// and to pinhole matrices.
struct Lens {
  double fov_x = std::numbers::pi / 2;  // radians
  double xi = 0;
  // fx/W, fy/H, cx/W, cy/H if the camera's file gives them. Without them pixels are square and the
  // principal point is the centre.
  std::optional<std::array<double, 4>> normalised;

  bool operator==(const Lens&) const = default;
};

struct Camera {
  Pose pose;
  Lens lens;

  bool operator==(const Camera&) const = default;
};

std::vector<Pose> poses_of(std::span<const Camera> cameras);
// One camera per pose, all with the same lens.
std::vector<Camera> with_lens(std::span<const Pose> poses, const Lens& lens);

// The same lenses with poses inv(first pose) * pose. The first pose becomes the identity.
std::vector<Camera> relative_to_first(std::span<const Camera> cameras);

}  // namespace loci::camera
