// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/visible_directions.h"

#include <vector>

namespace loci::camera {

Vec3 sphere_direction(int n) {
  const double z = 1 - 2 * (n + 0.5) / kSphereDirections;
  const double radius = std::sqrt(std::max(0.0, 1 - z * z));
  const double angle = n * (std::numbers::pi * (3 - std::sqrt(5.0)));
  return {radius * std::cos(angle), radius * std::sin(angle), z};
}

VisibleDirections visible_directions(const Camera& camera, double aspect) {
  static const std::vector<Vec3> all = [] {
    std::vector<Vec3> made;
    for (int n = 0; n < kSphereDirections; ++n) made.push_back(sphere_direction(n));
    return made;
  }();
  const auto& [pose, lens] = camera;
  const double fx = 1 / (2 * std::tan(lens.fov_x / 2));
  const auto [kx, ky, cx, cy] =
      lens.normalised.value_or(std::array<double, 4>{fx, fx * aspect, 0.5, 0.5});
  const Mat3 to_camera = pose.rotation.transposed();
  VisibleDirections seen{{}, pose.position};
  for (int n = 0; n < kSphereDirections; ++n) {
    const Vec3 d = to_camera * all[n];
    if (d.z <= 0) continue;
    const double u = kx * d.x / d.z + cx;
    const double v = ky * d.y / d.z + cy;
    if (u >= 0 && u <= 1 && v >= 0 && v <= 1) seen.directions.set(n);
  }
  return seen;
}

double coverage(const VisibleDirections& seen, std::span<const VisibleDirections* const> others,
                double radius) {
  const size_t count = seen.directions.count();
  if (count == 0) return 0;
  DirectionSet covered;
  for (const VisibleDirections* other : others) {
    if (norm(other->position - seen.position) < radius) covered |= other->directions;
  }
  return static_cast<double>((covered & seen.directions).count()) / static_cast<double>(count);
}

}  // namespace loci::camera
