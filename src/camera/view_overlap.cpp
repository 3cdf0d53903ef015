// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/view_overlap.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace loci::camera {

namespace {

constexpr std::array kSamples = {0.1, 0.3, 0.5, 0.7,
                                 0.9};  // shares of the image's width and height
constexpr double kDistance = 3;         // metres
constexpr double kLeastDepth = 1e-3;    // of a visible point

// fx, fy, cx, cy, divided by the image size.
std::array<double, 4> pinhole(const Lens& lens, double aspect) {
  if (lens.normalised) return *lens.normalised;
  const double fx = 1 / (2 * std::tan(lens.fov_x / 2));
  return {fx, fx * aspect, 0.5, 0.5};
}

}  // namespace

double view_overlap(const Camera& view, const Camera& other, double aspect) {
  const auto [fx, fy, cx, cy] = pinhole(view.lens, aspect);
  const auto [gx, gy, dx, dy] = pinhole(other.lens, aspect);
  const Mat3 to_other = other.pose.rotation.transposed();
  int seen = 0;
  for (const double row : kSamples) {
    for (const double column : kSamples) {
      const double u = column * 2 * cx, v = row * 2 * cy;
      const Vec3 ray = normalise({(u - cx) / fx, (v - cy) / fy, 1});
      const Vec3 point = view.pose.rotation * (ray * kDistance) + view.pose.position;
      const Vec3 p = to_other * (point - other.pose.position);
      const double depth = std::max(p.z, 1e-6);
      const double x = gx * p.x / depth + dx, y = gy * p.y / depth + dy;
      if (p.z > kLeastDepth && x >= 0 && x < 2 * cx && y >= 0 && y < 2 * cy) ++seen;
    }
  }
  return static_cast<double>(seen) / static_cast<double>(kSamples.size() * kSamples.size());
}

}  // namespace loci::camera
