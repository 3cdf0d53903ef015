// SPDX-License-Identifier: Apache-2.0
// Between the horizontal field of view and pinhole matrices, in pixels or divided by the image
// size.
#pragma once

#include <array>

#include "loci/camera/checks.h"
#include "loci/camera/trajectory.h"

namespace loci::camera {

// fx, fy, cx, cy; in pixels, or normalised: fx/W, fy/H, cx/W, cy/H.
using Pinhole = std::array<double, 4>;

struct ImageSize {
  int width = 0, height = 0;

  bool known() const { return width > 0 && height > 0; }
  bool operator==(const ImageSize&) const = default;
};

// Where neither a file nor an option gives a size: that of the training videos.
inline constexpr ImageSize kDefaultSize{768, 512};

inline constexpr double radians(double degrees) { return degrees * std::numbers::pi / 180; }
inline constexpr double degrees(double radians) { return radians * 180 / std::numbers::pi; }

// Square pixels, centred.
Lens lens_from_fov(double fov_x, double xi = 0);
// Refuses focal lengths that are not positive and centres that are not finite.
Lens lens_from_normalised(const Pinhole& normalised, const Where& where);

// The image size that a pixel matrix implies when nothing else gives it: 2 cx by 2 cy. Returns the
// exact (perhaps fractional) extent to normalise by.
std::array<double, 2> implied_extent(const Pinhole& pixels, const Where& where);
Lens lens_from_pixels(const Pinhole& pixels, const std::array<double, 2>& extent,
                      const Where& where);

// The size of the path's images, or the default.
ImageSize image_size(const Trajectory& trajectory);

// What a file without a place for xi stores; a lens with xi is refused (`format` names the file's).
Pinhole normalised_pinhole(const Lens& lens, const ImageSize& size, std::string_view format);
Pinhole pixel_pinhole(const Lens& lens, const ImageSize& size, std::string_view format);

// Field of view, xi and matrix lerped; a matrix survives only when both ends have one.
Lens interpolate(const Lens& a, const Lens& b, double t);

}  // namespace loci::camera
