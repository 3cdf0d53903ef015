// SPDX-License-Identifier: Apache-2.0
// The window of structural similarity: a Gaussian of deviation 1.5, 11 pixels wide.
#pragma once

#include <cstdint>

namespace loci::eval {

constexpr int64_t kBlurRadius = 5;

// One plane [height, width], both above the radius, mirrored at the border. `out` must not overlap
// `in`.
void gaussian_blur(const double* in, double* out, int64_t height, int64_t width);

}  // namespace loci::eval
