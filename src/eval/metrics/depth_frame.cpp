// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/metrics/depth_frame.h"

#include <cmath>

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::eval {

namespace {

constexpr double kRelative = 0.05, kAbsolute = 0.1;  // depth tolerance: share and metres

}  // namespace

camera::Vec3 cell_ray(const camera::TokenGrid& grid, int64_t row, int64_t column,
                      const camera::Lens& lens) {
  // Centres have integer coordinates on a grid of twice the resolution.
  return camera::token_ray({2 * grid.rows, 2 * grid.columns}, 2 * row + 1, 2 * column + 1, lens);
}

std::optional<PixelPlace> place_of(const camera::Vec3& local, const camera::TokenGrid& grid,
                                   const camera::Lens& lens) {
  const camera::GridPoint at = camera::project_to_grid(grid, local, lens);
  if (!(at.row >= 0 && at.row < static_cast<double>(grid.rows) && at.column >= 0 &&
        at.column < static_cast<double>(grid.columns))) {
    return std::nullopt;
  }
  return PixelPlace{static_cast<int64_t>(at.row), static_cast<int64_t>(at.column)};
}

DepthPixels::DepthPixels(const DepthFrame& frame)
    : pose_(frame.camera.pose), inverse_(frame.camera.pose.inverse()), lens_(frame.camera.lens) {
  LOCI_CHECK(frame.depth.dim() == 2, "depth has {} dimensions, expected 2", frame.depth.dim());
  depth_ = frame.depth.to(at::kFloat).contiguous();
  rows_ = depth_.size(0);
  columns_ = depth_.size(1);
  data_ = depth_.const_data_ptr<float>();
}

std::optional<camera::Vec3> DepthPixels::point(int64_t row, int64_t column) const {
  const double far = at(row, column);
  if (!std::isfinite(far) || far <= 0) return std::nullopt;
  const camera::Vec3 ray = cell_ray(grid(), row, column, lens_);
  if (ray == camera::Vec3{}) return std::nullopt;
  return pose_.rotation * (ray * far) + pose_.position;
}

bool DepthPixels::shows(const PixelPlace& pixel, double distance) const {
  const double shown = at(pixel.row, pixel.column);
  return std::abs(shown - distance) <= kRelative * distance + kAbsolute;
}

std::optional<PixelPlace> DepthPixels::visible_at(const camera::Vec3& point) const {
  const camera::Vec3 seen = local(point);
  const std::optional<PixelPlace> place = place_of(seen, grid(), lens_);
  return place && shows(*place, camera::norm(seen)) ? place : std::nullopt;
}

}  // namespace loci::eval
