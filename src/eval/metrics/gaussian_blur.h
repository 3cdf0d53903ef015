// SPDX-License-Identifier: Apache-2.0
// Gaussian window of SSIM: standard deviation 1.5, 11 pixels wide.
#pragma once

#include <cstdint>

namespace loci::eval {

constexpr int64_t kBlurRadius = 5;

// Blurs one plane [height, width], mirrored at the border. Both sizes must exceed the radius. `out`
// must not overlap `in`.
void gaussian_blur(const double* in, double* out, int64_t height, int64_t width);

}  // namespace loci::eval
