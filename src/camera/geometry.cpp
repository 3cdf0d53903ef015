// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/geometry.h"

#include <algorithm>
#include <array>

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::camera {

namespace {

// Row-major 4x4.
using Mat4 = std::array<double, 16>;

constexpr double kUpTurn =
    0.1;  // radians that a ray is rotated towards the sky to find "up" in the image
constexpr Vec3 kWorldUp{0, -1, 0};
constexpr double kTiny = 1e-6;  // shorter vectors have no direction
// Least depth of a projected direction: directions beside or behind the lens land far outside the
// image, on the correct side.
constexpr double kLeastDepth = 1.2e-7;

double focal(const TokenGrid& grid, const Lens& lens) {
  const double half = lens.fov_x / 2;
  return static_cast<double>(grid.columns) / 2 * (std::cos(half) + lens.xi) / std::sin(half);
}

Vec3 normalise_or_zero(const Vec3& v) { return v * (1 / std::max(norm(v), kTiny)); }

// Rotates `v` about the unit vector `axis` (Rodrigues' formula).
Vec3 turn(const Vec3& v, const Vec3& axis, double angle) {
  const double c = std::cos(angle);
  return v * c + cross(axis, v) * std::sin(angle) + axis * (dot(axis, v) * (1 - c));
}

// Input of the camera encoder for one token: image direction of world up (x, y) and latitude.
std::array<double, 3> absolute_map(const TokenGrid& grid, int64_t row, int64_t column,
                                   const Pose& pose, const Lens& lens) {
  const Vec3 ray = pose.rotation * token_ray(grid, row, column, lens);
  if (ray == Vec3{}) return {};
  const Vec3 axis = normalise_or_zero(cross(ray, kWorldUp));
  const Vec3 higher = pose.rotation.transposed() * turn(ray, axis, kUpTurn);
  const GridPoint point = project_to_grid(grid, higher, lens);
  const Vec3 up = normalise_or_zero(
      {point.column - static_cast<double>(column), point.row - static_cast<double>(row), 0});
  return {up.x, up.y, std::atan2(-ray.y, std::hypot(ray.x, ray.z))};
}

// [R t; 0 1]
Mat4 rigid(const Mat3& r, const Vec3& t) {
  return {r(0, 0), r(0, 1), r(0, 2), t.x, r(1, 0), r(1, 1), r(1, 2), t.y,
          r(2, 0), r(2, 1), r(2, 2), t.z, 0,       0,       0,       1};
}

void store(const Mat4& m, float* out) {
  for (size_t i = 0; i < m.size(); ++i) out[i] = static_cast<float>(m[i]);
}

}  // namespace

Vec3 token_ray(const TokenGrid& grid, int64_t row, int64_t column, const Lens& lens) {
  const double f = focal(grid, lens);
  const double mx = (static_cast<double>(column) - static_cast<double>(grid.columns) / 2) / f;
  const double my = (static_cast<double>(row) - static_cast<double>(grid.rows) / 2) / f;
  const double rho2 = mx * mx + my * my;
  const double inside = 1 + (1 - lens.xi * lens.xi) * rho2;
  if (inside < 0) return {};
  const double a = (lens.xi + std::sqrt(inside)) / (rho2 + 1);
  return normalise_or_zero({a * mx, a * my, a - lens.xi});
}

GridPoint project_to_grid(const TokenGrid& grid, const Vec3& direction, const Lens& lens) {
  const double f = focal(grid, lens);
  const double depth = std::max(direction.z + lens.xi * norm(direction), kLeastDepth);
  return {f * direction.x / depth + static_cast<double>(grid.columns) / 2,
          f * direction.y / depth + static_cast<double>(grid.rows) / 2};
}

FrameGeometry frame_geometry(std::span<const Camera> cameras, std::span<const int64_t> chunk_starts,
                             const TokenGrid& grid, double translation_scale) {
  const auto frames = static_cast<int64_t>(cameras.size());
  LOCI_CHECK(!chunk_starts.empty() && chunk_starts.front() == 0,
             "no chunk begins at frame 0; chunk_starts must begin with 0");
  FrameGeometry geometry;
  geometry.grid = grid;
  geometry.absolute = at::empty({frames, grid.tokens(), 3}, at::kFloat);
  for (at::Tensor* matrices :
       {&geometry.to_ray, &geometry.from_ray, &geometry.project, &geometry.unproject}) {
    *matrices = at::empty({frames, grid.tokens(), 4, 4}, at::kFloat);
  }

  size_t chunk = 0;
  for (int64_t frame = 0; frame < frames; ++frame) {
    while (chunk + 1 < chunk_starts.size() && chunk_starts[chunk + 1] <= frame) ++chunk;
    const Lens& ray_lens = cameras[chunk_starts[chunk]].lens;
    const auto& [pose, lens] = cameras[frame];
    const double kx = 1 / (2 * std::tan(lens.fov_x / 2));
    const double ky = kx * static_cast<double>(grid.columns) / static_cast<double>(grid.rows);
    for (int64_t token = 0; token < grid.tokens(); ++token) {
      const int64_t row = token / grid.columns;
      const int64_t column = token % grid.columns;
      const Vec3 ray = pose.rotation * token_ray(grid, row, column, ray_lens);

      // Ray frame: z along the ray, x perpendicular to the camera's vertical, origin at its centre.
      const Vec3 x = normalise_or_zero(cross(pose.down(), ray));
      const Vec3 y = normalise_or_zero(cross(ray, x));
      const Mat3 world = Mat3::from_columns(x, y, ray);
      const Mat3 rotation = world.transposed();
      const Vec3 offset = -(rotation * pose.position);
      const int64_t at = (frame * grid.tokens() + token) * 16;
      store(rigid(rotation, offset), geometry.to_ray.data_ptr<float>() + at);
      store(rigid(world, pose.position), geometry.from_ray.data_ptr<float>() + at);

      Mat4 project = rigid(rotation, offset * (1 / translation_scale));
      for (int c = 0; c < 4; ++c) {
        project[c] *= kx;
        project[4 + c] *= ky;
      }
      store(project, geometry.project.data_ptr<float>() + at);
      Mat4 unproject = rigid(world, pose.position * (1 / translation_scale));
      for (int r = 0; r < 3; ++r) {
        unproject[4 * r] /= kx;
        unproject[4 * r + 1] /= ky;
      }
      store(unproject, geometry.unproject.data_ptr<float>() + at);

      const std::array<double, 3> absolute = absolute_map(grid, row, column, pose, lens);
      std::copy(absolute.begin(), absolute.end(),
                geometry.absolute.data_ptr<float>() + (frame * grid.tokens() + token) * 3);
    }
  }
  return geometry;
}

}  // namespace loci::camera
