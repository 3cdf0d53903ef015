// SPDX-License-Identifier: Apache-2.0
// Gate, residual and layer norm, and their gradient. Compiled once per instruction set.
#pragma once

#include "loci/kernels/elementwise/residual_norm_kernel.h"
#include "loci/kernels/machine/lanes.h"

namespace loci::kernels::residual_norm_kernels {
namespace {

template <int kLanes>
struct Loops {
  using Row = Lanes<kLanes>;
  using Floats = typename Row::Floats;
  using Sum = typename Row::Sum;

  struct Moments {
    float mean, scale;  // scale = 1 / standard deviation
  };

  static Moments moments(const float* row, float total, int64_t width, float eps) {
    const float mean = total / static_cast<float>(width);
    Sum squares;
    Row::along(width, [&](int64_t c, auto part, int i) {
      const Floats d = Row::within(Row::load(row + c, part) - mean, part);
      squares.part[i] += d * d;
    });
    return {mean, 1 / __builtin_sqrtf(squares.total() / static_cast<float>(width) + eps)};
  }

  template <typename T>
  static void forward(const Forward<T>& work) {
    const Forward<T> w = work;  // a copy that no store can alias
    const bool gated = w.gate != nullptr;
    for (int64_t r = w.begin; r < w.end; ++r) {
      const int64_t at = r * w.width;
      const float* row = w.x + at;
      Sum total;
      if (w.y != nullptr) {
        const T* y = w.y + at;
        float* sum = w.sum + at;
        Row::along(w.width, [&](int64_t c, auto part, int i) {
          Floats s = Row::load(y + c, part);
          if (gated) s *= Row::load(w.gate + c, part);
          s += Row::load(row + c, part);
          Row::store(sum + c, s, part);
          total.part[i] += s;
        });
        row = sum;
      } else {
        Row::along(w.width,
                   [&](int64_t c, auto part, int i) { total.part[i] += Row::load(row + c, part); });
      }
      if (w.norm == nullptr) continue;
      const Moments m = moments(row, total.total(), w.width, w.eps);
      T* norm = w.norm + at;
      Row::along(w.width, [&](int64_t c, auto part, int) {
        const Floats n = (Row::load(row + c, part) - m.mean) * m.scale;
        Row::store(norm + c,
                   n * (Row::load(w.scale + c, part) + w.base) + Row::load(w.shift + c, part),
                   part);
      });
    }
  }

  // With n = LN(s) and a = (base + scale) dL/dnorm:
  // dL/ds = (a - mean(a) - n mean(a n)) / standard deviation, plus the gradient of the sum.
  template <typename T>
  static void backward(const Backward<T>& work) {
    const Backward<T> w = work;
    float* grad_gate = w.sums;
    float* grad_scale = w.sums + w.width;
    float* grad_shift = w.sums + 2 * w.width;
    for (int64_t c = 0; c < 3 * w.width; ++c) w.sums[c] = 0;
    const auto width = static_cast<float>(w.width);
    const bool normed = w.grad_norm != nullptr, gated = w.gate != nullptr;
    for (int64_t r = w.begin; r < w.end; ++r) {
      const int64_t at = r * w.width;
      const float* s = w.sum + at;
      const T* dn = normed ? w.grad_norm + at : nullptr;
      Moments m{};
      float mean_a = 0, mean_an = 0;
      if (normed) {
        Sum total, a_total, an_total;
        Row::along(w.width,
                   [&](int64_t c, auto part, int i) { total.part[i] += Row::load(s + c, part); });
        m = moments(s, total.total(), w.width, w.eps);
        Row::along(w.width, [&](int64_t c, auto part, int i) {
          const Floats n = (Row::load(s + c, part) - m.mean) * m.scale;
          const Floats d = Row::load(dn + c, part);
          const Floats a = d * (Row::load(w.scale + c, part) + w.base);
          a_total.part[i] += a;
          an_total.part[i] += a * n;
          Row::store(grad_scale + c, Row::load(grad_scale + c, part) + d * n, part);
          Row::store(grad_shift + c, Row::load(grad_shift + c, part) + d, part);
        });
        mean_a = a_total.total() / width;
        mean_an = an_total.total() / width;
      }
      Row::along(w.width, [&](int64_t c, auto part, int) {
        Floats d = {};
        if (normed) {
          const Floats n = (Row::load(s + c, part) - m.mean) * m.scale;
          const Floats a = Row::load(dn + c, part) * (Row::load(w.scale + c, part) + w.base);
          d = (a - mean_a - n * mean_an) * m.scale;
        }
        if (w.grad_sum != nullptr) d += Row::load(w.grad_sum + at + c, part);
        if (w.grad_x != nullptr) Row::store(w.grad_x + at + c, d, part);
        if (gated) {
          const Floats y = Row::load(w.y + at + c, part);
          Row::store(grad_gate + c, Row::load(grad_gate + c, part) + d * y, part);
        }
        if (w.grad_y != nullptr) {
          Row::store(w.grad_y + at + c, gated ? d * Row::load(w.gate + c, part) : d, part);
        }
      });
    }
  }

  static constexpr Kernels kKernels = {forward<float>, forward<uint16_t>, backward<float>,
                                       backward<uint16_t>};
};

}  // namespace
}  // namespace loci::kernels::residual_norm_kernels
