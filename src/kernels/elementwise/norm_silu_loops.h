// SPDX-License-Identifier: Apache-2.0
// norm_silu() and its gradient. Compiled once per instruction set.
#pragma once

#include "loci/kernels/elementwise/norm_silu_kernel.h"
#include "loci/kernels/machine/lanes.h"

namespace loci::kernels::norm_silu_kernels {
namespace {

template <int kLanes>
struct Loops {
  using Row = Lanes<kLanes>;
  using Floats = typename Row::Floats;
  using Sigmoid = typename Row::Sigmoid;

  // The length of a row, at least 1e-12 as in the original model, and sqrt(C) / length.
  struct Length {
    float value, scale;

    template <typename T>
    Length(const T* row, int64_t channels) {
      typename Row::Sum squares;
      Row::along(channels, [&](int64_t c, auto part, int i) {
        const Floats v = Row::load(row + c, part);
        squares.part[i] += v * v;
      });
      const float root = __builtin_sqrtf(squares.total());
      value = root > 1e-12F ? root : 1e-12F;
      scale = __builtin_sqrtf(static_cast<float>(channels)) / value;
    }
  };

  template <typename T>
  static void forward(const T* x, const float* gamma, T* y, int64_t pixels, int64_t channels) {
    for (int64_t p = 0; p < pixels; ++p, x += channels, y += channels) {
      const Length length(x, channels);
      Row::along(channels, [&](int64_t c, auto part, int) {
        const Floats u = Row::load(x + c, part) * (Row::load(gamma + c, part) * length.scale);
        const Sigmoid sigmoid(u);
        Row::store(y + c, u * sigmoid.value, part);
      });
    }
  }

  // With u = x k g, k = sqrt(C) / |x| and a = g dL/du: dL/dx = k (a - x (a·x) / |x|²).
  static void backward(const float* x, const float* gamma, const float* grad_y, float* grad_x,
                       float* grad_gamma, int64_t pixels, int64_t channels) {
    for (int64_t p = 0; p < pixels; ++p, x += channels, grad_y += channels, grad_x += channels) {
      const Length length(x, channels);
      typename Row::Sum dot;
      Row::along(channels, [&](int64_t c, auto part, int i) {
        const Floats v = Row::load(x + c, part), g = Row::load(gamma + c, part);
        const Floats u = v * (g * length.scale);
        const Sigmoid sigmoid(u);
        const Floats du = Row::load(grad_y + c, part) * (sigmoid.value + u * sigmoid.derivative());
        const Floats a = g * du;
        dot.part[i] += a * v;
        Row::store(grad_x + c, a, part);
        Row::store(grad_gamma + c, Row::load(grad_gamma + c, part) + du * (v * length.scale), part);
      });
      const float share = dot.total() / (length.value * length.value);
      Row::along(channels, [&](int64_t c, auto part, int) {
        const Floats a = Row::load(grad_x + c, part);
        Row::store(grad_x + c, (a - Row::load(x + c, part) * share) * length.scale, part);
      });
    }
  }

  static constexpr Kernels kKernels = {forward<float>, forward<uint16_t>, backward};
};

}  // namespace
}  // namespace loci::kernels::norm_silu_kernels
