// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/metrics/view_warp.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::eval {

namespace {

// Pixels by which a place may lie outside: keeps the border of a camera at rest in spite of
// rounding errors.
constexpr double kMargin = 1e-4;

}  // namespace

double ViewWarp::share() const { return valid.to(at::kDouble).mean().item<double>(); }

ViewWarp view_warp(const DepthFrame& target, const DepthFrame& source,
                   const camera::TokenGrid& size) {
  const bool depth = target.depth.defined() && source.depth.defined();
  std::optional<DepthPixels> to, from;
  if (depth) {
    to.emplace(target);
    from.emplace(source);
    LOCI_CHECK(to->grid() == size && from->grid() == size, "depth of {}x{} and {}x{} for {}x{}",
               to->grid().columns, to->grid().rows, from->grid().columns, from->grid().rows,
               size.columns, size.rows);
  }
  const camera::Mat3 turn = source.camera.pose.rotation.transposed() * target.camera.pose.rotation;
  ViewWarp warp{at::zeros({size.rows, size.columns, 2}, at::kFloat),
                at::zeros({size.rows, size.columns}, at::kBool)};
  auto place = warp.place.accessor<float, 3>();
  auto valid = warp.valid.accessor<bool, 2>();
  const auto last_column = static_cast<double>(size.columns - 1);
  const auto last_row = static_cast<double>(size.rows - 1);
  for (int64_t row = 0; row < size.rows; ++row) {
    for (int64_t column = 0; column < size.columns; ++column) {
      const std::optional<camera::Vec3> point = depth ? to->point(row, column) : std::nullopt;
      camera::Vec3 local;
      if (point) {
        local = from->local(*point);
      } else {
        // Sky, or unknown depth: a point at infinity.
        const camera::Vec3 ray = cell_ray(size, row, column, target.camera.lens);
        if (ray == camera::Vec3{}) continue;
        local = turn * ray;
      }
      const camera::GridPoint at = camera::project_to_grid(size, local, source.camera.lens);
      // From corners to centres. All four neighbours must lie within the picture.
      double x = at.column - 0.5, y = at.row - 0.5;
      if (!(x >= -kMargin && x <= last_column + kMargin && y >= -kMargin &&
            y <= last_row + kMargin)) {
        continue;
      }
      x = std::clamp(x, 0.0, last_column);
      y = std::clamp(y, 0.0, last_row);
      if (depth) {
        const PixelPlace nearest{std::lround(y), std::lround(x)};
        const bool seen = point ? from->shows(nearest, camera::norm(local))
                                : std::isinf(from->at(nearest.row, nearest.column));
        if (!seen) continue;
      }
      place[row][column][0] = static_cast<float>(x);
      place[row][column][1] = static_cast<float>(y);
      valid[row][column] = true;
    }
  }
  return warp;
}

at::Tensor resample(const at::Tensor& picture, const ViewWarp& warp) {
  LOCI_CHECK(picture.dim() == 3 && picture.sizes().slice(0, 2) == warp.valid.sizes(),
             "picture of [{}] for a warp of [{}]", fmt::join(picture.sizes(), ", "),
             fmt::join(warp.valid.sizes(), ", "));
  // at::grid_sampler expects -1 and 1 at the centres of the outermost pixels.
  const at::Tensor extent = at::tensor(
      {std::max<int64_t>(1, picture.size(1) - 1), std::max<int64_t>(1, picture.size(0) - 1)},
      picture.options());
  const at::Tensor grid = warp.place.to(picture.scalar_type()) * 2 / extent - 1;
  constexpr int64_t kBilinear = 0, kZeros = 0;
  const at::Tensor out =
      at::grid_sampler(picture.permute({2, 0, 1}).unsqueeze(0), grid.unsqueeze(0), kBilinear,
                       kZeros, /*align_corners=*/true)[0]
          .permute({1, 2, 0});
  return out * warp.valid.unsqueeze(-1);
}

}  // namespace loci::eval
