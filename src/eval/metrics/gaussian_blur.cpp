// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/metrics/gaussian_blur.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace loci::eval {

namespace {

constexpr int64_t kRadius = kBlurRadius;
constexpr double kSigma = 1.5;

// Index mirrored at the border; the border itself is not repeated.
int64_t mirrored(int64_t i, int64_t size) {
  if (i < 0) return -i;
  return i < size ? i : 2 * (size - 1) - i;
}

using Weights = std::array<double, 2 * kRadius + 1>;

Weights gaussian() {
  Weights weights;
  double sum = 0;
  for (int64_t i = -kRadius; i <= kRadius; ++i) {
    const auto offset = static_cast<double>(i);
    sum += weights[static_cast<size_t>(i + kRadius)] =
        std::exp(-offset * offset / (2 * kSigma * kSigma));
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

// out[x] += weight * in[x]
void accumulate(double* out, const double* in, double weight, int64_t count) {
  for (int64_t x = 0; x < count; ++x) out[x] += weight * in[x];
}

}  // namespace

// Separable loops, because libtorch's FP64 convolution takes seconds for a picture of 1280x720.
void gaussian_blur(const double* in, double* out, int64_t height, int64_t width) {
  const Weights weights = gaussian();
  std::vector<double> rows(static_cast<size_t>(height * width), 0), padded(width + 2 * kRadius);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = -kRadius; x < width + kRadius; ++x) {
      padded[static_cast<size_t>(x + kRadius)] = in[y * width + mirrored(x, width)];
    }
    for (size_t k = 0; k < weights.size(); ++k) {
      accumulate(rows.data() + y * width, padded.data() + k, weights[k], width);
    }
  }
  std::fill(out, out + height * width, 0);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t k = -kRadius; k <= kRadius; ++k) {
      accumulate(out + y * width, rows.data() + mirrored(y + k, height) * width,
                 weights[static_cast<size_t>(k + kRadius)], width);
    }
  }
}

}  // namespace loci::eval
