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
constexpr double kRayDepths[] = {1, 2, 4, 8, 16};  // metres

std::vector<DepthPixels> all_pixels(std::span<const DepthFrame> views) {
  std::vector<DepthPixels> list;
  for (const DepthFrame& view : views) list.emplace_back(view);
  return list;
}

// Surface points of every token.
std::vector<std::vector<camera::Vec3>> surface(const DepthFrame& frame,
                                               const camera::TokenGrid& grid) {
  const DepthPixels pixels(frame);
  LOCI_CHECK(pixels.grid().rows >= grid.rows && pixels.grid().columns >= grid.columns,
             "depth map of {}x{} is smaller than the grid of {}x{} tokens", pixels.grid().columns,
             pixels.grid().rows, grid.columns, grid.rows);
  const auto pixel = [](int64_t token, int64_t sample, int64_t tokens, int64_t size) {
    return (2 * (token * kSamples + sample) + 1) * size / (2 * tokens * kSamples);
  };
  std::vector<std::vector<camera::Vec3>> points(static_cast<size_t>(grid.tokens()));
  for (int64_t token = 0; token < grid.tokens(); ++token) {
    for (int64_t sample = 0; sample < kSamples * kSamples; ++sample) {
      const auto point = pixels.point(
          pixel(token / grid.columns, sample / kSamples, grid.rows, pixels.grid().rows),
          pixel(token % grid.columns, sample % kSamples, grid.columns, pixels.grid().columns));
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
    for (int64_t token = 0; token < tokens; ++token) {
      const camera::Vec3 ray =
          cell_ray(grid, token / grid.columns, token % grid.columns, frame.camera.lens);
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
  const std::vector<DepthPixels> views = all_pixels(past);
  std::vector<int64_t> hits(static_cast<size_t>(tokens));
  for (int64_t token = 0; token < tokens; ++token) {
    for (int64_t f = 0; f < std::ssize(past); ++f) {
      const DepthPixels& view = views[static_cast<size_t>(f)];
      std::fill(hits.begin(), hits.end(), 0);
      for (const camera::Vec3& point : points[static_cast<size_t>(token)]) {
        const auto place = view.visible_at(point);
        if (!place) continue;
        const int64_t row = place->row * grid.rows / view.grid().rows;
        const int64_t column = place->column * grid.columns / view.grid().columns;
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
  const DepthPixels pixels(frame);
  const std::vector<DepthPixels> views = all_pixels(past);
  at::Tensor result = at::zeros({pixels.grid().rows, pixels.grid().columns}, at::kBool);
  auto mark = result.accessor<bool, 2>();
  for (int64_t row = 0; row < pixels.grid().rows; ++row) {
    for (int64_t column = 0; column < pixels.grid().columns; ++column) {
      const auto point = pixels.point(row, column);
      mark[row][column] =
          point && std::any_of(views.begin(), views.end(), [&](const DepthPixels& view) {
            return view.visible_at(*point).has_value();
          });
    }
  }
  return result;
}

}  // namespace loci::eval
