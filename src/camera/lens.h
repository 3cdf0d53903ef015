// SPDX-License-Identifier: Apache-2.0
// Conversions between lenses and pinhole matrices, in pixels or normalised by the image size.
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

// Used if neither a file nor an option gives a size: the size of the training videos.
inline constexpr ImageSize kDefaultSize{768, 512};

inline constexpr double radians(double degrees) { return degrees * std::numbers::pi / 180; }
inline constexpr double degrees(double radians) { return radians * 180 / std::numbers::pi; }

// Square pixels, centred.
Lens lens_from_fov(double fov_x, double xi = 0);
// Focal lengths that are not positive and centres that are not finite are bad input.
Lens lens_from_normalised(const Pinhole& normalised, const Where& where);

// The image size that a pixel matrix implies: 2 cx by 2 cy, possibly fractional. Used if nothing
// else gives the size.
std::array<double, 2> implied_extent(const Pinhole& pixels, const Where& where);
Lens lens_from_pixels(const Pinhole& pixels, const std::array<double, 2>& extent,
                      const Where& where);

// The size of the trajectory's images, or kDefaultSize if it is unknown.
ImageSize image_size(const Trajectory& trajectory);

// The matrix of a pinhole lens. A lens with xi > 0 is bad input; `format` names the file format in
// the message.
Pinhole normalised_pinhole(const Lens& lens, const ImageSize& size, std::string_view format);
Pinhole pixel_pinhole(const Lens& lens, const ImageSize& size, std::string_view format);

// Linear in field of view, xi and matrix. The result has a matrix only if a and b have one.
Lens interpolate(const Lens& a, const Lens& b, double t);

}  // namespace loci::camera
