// SPDX-License-Identifier: Apache-2.0
// A frame's camera and depth, and the surface points that they determine.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

#include "loci/camera/camera.h"
#include "loci/camera/geometry.h"

namespace loci::eval {

// Camera of a frame and, if known, its depth.
struct DepthFrame {
  camera::Camera camera;
  at::Tensor depth;  // float [H, W], metres along the ray, infinite for sky; may be undefined
};

// Unit direction (camera axes) of the ray through the centre of a cell of the grid, a pixel or a
// token. The zero vector where the lens has no ray.
camera::Vec3 cell_ray(const camera::TokenGrid& grid, int64_t row, int64_t column,
                      const camera::Lens& lens);

struct PixelPlace {
  int64_t row, column;
};

// Cell of a grid that contains a point in camera coordinates; empty outside of the picture.
std::optional<PixelPlace> place_of(const camera::Vec3& local, const camera::TokenGrid& grid,
                                   const camera::Lens& lens);

// The depth of a frame in contiguous memory, for access by pixel.
class DepthPixels {
 public:
  // The frame must have depth.
  explicit DepthPixels(const DepthFrame& frame);

  camera::TokenGrid grid() const { return {rows_, columns_}; }
  float at(int64_t row, int64_t column) const { return data_[row * columns_ + column]; }

  // Surface point at the centre of the pixel, in world coordinates; empty for sky.
  std::optional<camera::Vec3> point(int64_t row, int64_t column) const;

  // A point of the world in camera coordinates.
  camera::Vec3 local(const camera::Vec3& point) const {
    return inverse_.rotation * point + inverse_.position;
  }
  // Whether the pixel shows a surface at this distance from the camera, within 5 % plus 10 cm.
  bool shows(const PixelPlace& pixel, double distance) const;
  // Pixel that shows the point of the world; empty if it is occluded or outside of the picture.
  std::optional<PixelPlace> visible_at(const camera::Vec3& point) const;

 private:
  int64_t rows_ = 0, columns_ = 0;
  camera::Pose pose_, inverse_;
  camera::Lens lens_;
  at::Tensor depth_;  // owns the memory of `data_`
  const float* data_ = nullptr;
};

}  // namespace loci::eval
