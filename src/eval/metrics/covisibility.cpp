// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/metrics/covisibility.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::eval {

namespace {

constexpr int64_t kSamples = 4;  // points per side of a token
constexpr int64_t kMinHits = kSamples * kSamples / 4;
constexpr double kRelative = 0.05, kAbsolute = 0.1;  // depth tolerance: share and metres
constexpr double kRayDepths[] = {1, 2, 4, 8, 16};    // metres

// Depth of a frame in contiguous memory, with its pose and the inverse pose.
struct Pixels {
  int64_t rows = 0, columns = 0;
  camera::Pose pose, inverse;
  camera::Lens lens;
  at::Tensor depth;  // owns the memory of `data`
  const float* data = nullptr;

  explicit Pixels(const DepthFrame& view)
      : pose(view.camera.pose), inverse(view.camera.pose.inverse()), lens(view.camera.lens) {
    LOCI_CHECK(view.depth.dim() == 2, "depth has {} dimensions, expected 2", view.depth.dim());
    depth = view.depth.to(at::kFloat).contiguous();
    rows = depth.size(0);
    columns = depth.size(1);
    data = depth.const_data_ptr<float>();
  }

  float at(int64_t row, int64_t column) const { return data[row * columns + column]; }

  // Surface point at the centre of the pixel, in world coordinates; empty for sky.
  std::optional<camera::Vec3> point(int64_t row, int64_t column) const {
    const double far = at(row, column);
    if (!std::isfinite(far) || far <= 0) return std::nullopt;
    // Pixel centres have integer coordinates on a grid of twice the resolution.
    const camera::Vec3 ray =
        camera::token_ray({2 * rows, 2 * columns}, 2 * row + 1, 2 * column + 1, lens);
    if (ray == camera::Vec3{}) return std::nullopt;
    return pose.rotation * (ray * far) + pose.position;
  }
};

struct Place {
  int64_t row, column;
};

// Grid cell of a point in camera coordinates; empty outside of the picture.
std::optional<Place> place_of(const camera::Vec3& local, const camera::TokenGrid& grid,
                              const camera::Lens& lens) {
  const camera::GridPoint at = camera::project_to_grid(grid, local, lens);
  if (!(at.row >= 0 && at.row < static_cast<double>(grid.rows) && at.column >= 0 &&
        at.column < static_cast<double>(grid.columns))) {
    return std::nullopt;
  }
  return Place{static_cast<int64_t>(at.row), static_cast<int64_t>(at.column)};
}

// Pixel that shows the point; empty if the point is occluded or outside of the picture.
std::optional<Place> visible_at(const Pixels& view, const camera::Vec3& point) {
  const camera::Vec3 local = view.inverse.rotation * point + view.inverse.position;
  const std::optional<Place> place = place_of(local, {view.rows, view.columns}, view.lens);
  if (!place) return std::nullopt;
  const double far = camera::norm(local);
  const double shown = view.at(place->row, place->column);
  return std::abs(shown - far) <= kRelative * far + kAbsolute ? place : std::nullopt;
}

std::vector<Pixels> all_pixels(std::span<const DepthFrame> views) {
  std::vector<Pixels> list;
  for (const DepthFrame& view : views) list.emplace_back(view);
  return list;
}

// Surface points of every token.
std::vector<std::vector<camera::Vec3>> surface(const DepthFrame& frame,
                                               const camera::TokenGrid& grid) {
  const Pixels pixels(frame);
  LOCI_CHECK(pixels.rows >= grid.rows && pixels.columns >= grid.columns,
             "depth map of {}x{} is smaller than the grid of {}x{} tokens", pixels.columns,
             pixels.rows, grid.columns, grid.rows);
  const auto pixel = [](int64_t token, int64_t sample, int64_t tokens, int64_t size) {
    return (2 * (token * kSamples + sample) + 1) * size / (2 * tokens * kSamples);
  };
  std::vector<std::vector<camera::Vec3>> points(static_cast<size_t>(grid.tokens()));
  for (int64_t token = 0; token < grid.tokens(); ++token) {
    for (int64_t sample = 0; sample < kSamples * kSamples; ++sample) {
      const auto point = pixels.point(
          pixel(token / grid.columns, sample / kSamples, grid.rows, pixels.rows),
          pixel(token % grid.columns, sample % kSamples, grid.columns, pixels.columns));
      if (point) points[static_cast<size_t>(token)].push_back(*point);
    }
  }
  return points;
}

}  // namespace

at::Tensor covisible_tokens(const DepthFrame& frame, std::span<const DepthFrame> past,
                            const camera::TokenGrid& grid) {
  const auto known = [](const DepthFrame& view) { return view.depth.defined(); };
  const bool depth = known(frame) && std::all_of(past.begin(), past.end(), known);
  const int64_t tokens = grid.tokens();
  at::Tensor result = at::zeros({tokens, std::ssize(past), tokens}, at::kBool);
  auto mark = result.accessor<bool, 3>();
  if (!depth) {
    // Token centres have integer coordinates on a grid of twice the resolution.
    const camera::TokenGrid fine{2 * grid.rows, 2 * grid.columns};
    for (int64_t token = 0; token < tokens; ++token) {
      const camera::Vec3 ray = camera::token_ray(fine, 2 * (token / grid.columns) + 1,
                                                 2 * (token % grid.columns) + 1, frame.camera.lens);
      if (ray == camera::Vec3{}) continue;
      for (int64_t f = 0; f < std::ssize(past); ++f) {
        const DepthFrame& view = past[static_cast<size_t>(f)];
        const camera::Pose between = view.camera.pose.inverse() * frame.camera.pose;
        for (const double far : kRayDepths) {
          const camera::Vec3 local = between.rotation * (ray * far) + between.position;
          const auto place = place_of(local, grid, view.camera.lens);
          if (place) mark[token][f][place->row * grid.columns + place->column] = true;
        }
      }
    }
    return result.flatten(1);
  }
  const std::vector<std::vector<camera::Vec3>> points = surface(frame, grid);
  const std::vector<Pixels> views = all_pixels(past);
  std::vector<int64_t> hits(static_cast<size_t>(tokens));
  for (int64_t token = 0; token < tokens; ++token) {
    for (int64_t f = 0; f < std::ssize(past); ++f) {
      const Pixels& view = views[static_cast<size_t>(f)];
      std::fill(hits.begin(), hits.end(), 0);
      for (const camera::Vec3& point : points[static_cast<size_t>(token)]) {
        const auto place = visible_at(view, point);
        if (!place) continue;
        const int64_t row = place->row * grid.rows / view.rows;
        const int64_t column = place->column * grid.columns / view.columns;
        ++hits[static_cast<size_t>(row * grid.columns + column)];
      }
      for (int64_t other = 0; other < tokens; ++other) {
        mark[token][f][other] = hits[static_cast<size_t>(other)] >= kMinHits;
      }
    }
  }
  return result.flatten(1);
}

at::Tensor seen_before(const DepthFrame& frame, std::span<const DepthFrame> past) {
  const Pixels pixels(frame);
  const std::vector<Pixels> views = all_pixels(past);
  at::Tensor result = at::zeros({pixels.rows, pixels.columns}, at::kBool);
  auto mark = result.accessor<bool, 2>();
  for (int64_t row = 0; row < pixels.rows; ++row) {
    for (int64_t column = 0; column < pixels.columns; ++column) {
      const auto point = pixels.point(row, column);
      mark[row][column] = point && std::any_of(views.begin(), views.end(), [&](const Pixels& view) {
                            return visible_at(view, *point).has_value();
                          });
    }
  }
  return result;
}

}  // namespace loci::eval
