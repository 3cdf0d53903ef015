// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/lens.h"

#include "loci/base/error.h"

namespace loci::camera {

Lens lens_from_fov(double fov_x, double xi) { return {fov_x, xi, std::nullopt}; }

Lens lens_from_normalised(const Pinhole& n, const Where& where) {
  if (!(n[0] > 1e-4 && n[0] < 1e4 && n[1] > 1e-4 && n[1] < 1e4)) {
    fail("{}: the focal lengths are {:.4g} and {:.4g} image sizes; expected positive values near 1",
         where.str(), n[0], n[1]);
  }
  if (!(std::abs(n[2]) < 100 && std::abs(n[3]) < 100)) {
    fail("{}: the image centre is at {:.4g}, {:.4g} image sizes; expected about 0.5", where.str(),
         n[2], n[3]);
  }
  return {2 * std::atan(0.5 / n[0]), 0, n};
}

std::array<double, 2> implied_extent(const Pinhole& pixels, const Where& where) {
  if (!(pixels[2] > 0 && pixels[3] > 0 && pixels[2] < 1e6 && pixels[3] < 1e6)) {
    fail(
        "{}: the image centre is at {:.4g}, {:.4g} pixels, which does not imply an image size; "
        "give it with --size",
        where.str(), pixels[2], pixels[3]);
  }
  return {2 * pixels[2], 2 * pixels[3]};
}

Lens lens_from_pixels(const Pinhole& p, const std::array<double, 2>& extent, const Where& where) {
  return lens_from_normalised(
      {p[0] / extent[0], p[1] / extent[1], p[2] / extent[0], p[3] / extent[1]}, where);
}

ImageSize image_size(const Trajectory& trajectory) {
  const ImageSize size{trajectory.width, trajectory.height};
  return size.known() ? size : kDefaultSize;
}

Pinhole normalised_pinhole(const Lens& lens, const ImageSize& size, std::string_view format) {
  if (lens.xi != 0) {
    fail("the path has a lens with xi = {}; {} files store pinhole lenses only: use --to loci",
         lens.xi, format);
  }
  if (lens.normalised) return *lens.normalised;
  const double fx = 0.5 / std::tan(lens.fov_x / 2);
  return {fx, fx * size.width / size.height, 0.5, 0.5};
}

Pinhole pixel_pinhole(const Lens& lens, const ImageSize& size, std::string_view format) {
  const Pinhole n = normalised_pinhole(lens, size, format);
  return {n[0] * size.width, n[1] * size.height, n[2] * size.width, n[3] * size.height};
}

Lens interpolate(const Lens& a, const Lens& b, double t) {
  if (a == b) return a;
  Lens between{a.fov_x * (1 - t) + b.fov_x * t, a.xi * (1 - t) + b.xi * t, std::nullopt};
  if (a.normalised && b.normalised) {
    between.normalised.emplace();
    for (size_t i = 0; i < 4; ++i) {
      (*between.normalised)[i] = (*a.normalised)[i] * (1 - t) + (*b.normalised)[i] * t;
    }
  }
  return between;
}

}  // namespace loci::camera
