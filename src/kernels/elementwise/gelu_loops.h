// SPDX-License-Identifier: Apache-2.0
// GELU and its derivative. Compiled once per instruction set.
#pragma once

#include "loci/kernels/elementwise/gelu_kernel.h"
#include "loci/kernels/machine/lanes.h"

namespace loci::kernels::gelu_kernels {
namespace {

// x (1 + tanh u) / 2 = x σ(2u) with u = sqrt(2/π) (x + 0.044715 x³).
template <int kLanes>
struct Loops {
  using Row = Lanes<kLanes>;
  using Floats = typename Row::Floats;

  static constexpr float kTwice = 1.5957691216F;  // 2 sqrt(2/π)
  static constexpr float kCubic = 0.044715F;

  [[gnu::always_inline]] static Floats twice_u(const Floats& x) {
    return x * kTwice * (1 + kCubic * x * x);
  }

  [[gnu::always_inline]] static Floats gelu(const Floats& x) {
    const typename Row::Sigmoid sigmoid(twice_u(x));
    return x * sigmoid.value;
  }

  template <typename T>
  static void forward(const T* x, T* y, int64_t count) {
    Row::along(count, [&](int64_t c, auto part, int) {
      Row::store(y + c, gelu(Row::load(x + c, part)), part);
    });
  }

  template <typename T>
  static void backward(const T* x, const T* grad_y, T* grad_x, int64_t count) {
    Row::along(count, [&](int64_t c, auto part, int) {
      const Floats v = Row::load(x + c, part);
      const typename Row::Sigmoid sigmoid(twice_u(v));
      const Floats slope = kTwice * (1 + 3 * kCubic * v * v);
      const Floats d = sigmoid.value + v * slope * sigmoid.derivative();
      Row::store(grad_x + c, Row::load(grad_y + c, part) * d, part);
    });
  }

  static constexpr Kernels kKernels = {forward<float>, forward<uint16_t>, backward<float>,
                                       backward<uint16_t>};
};

}  // namespace
}  // namespace loci::kernels::gelu_kernels
