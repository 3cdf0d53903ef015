// SPDX-License-Identifier: Apache-2.0
// RMS norm with an optional head map, and its gradient. Compiled once per instruction set.
#pragma once

#include "loci/kernels/elementwise/head_map_loops.h"
#include "loci/kernels/elementwise/rms_norm_kernel.h"
#include "loci/kernels/machine/lanes.h"

namespace loci::kernels::rms_norm_kernels {
namespace {

template <int kLanes>
struct Loops {
  using Row = Lanes<kLanes>;
  using Floats = typename Row::Floats;
  using Sum = typename Row::Sum;

  // 1 / rms
  template <typename T>
  static float scale_of(const T* x, int64_t width, float eps) {
    Sum squares;
    Row::along(width, [&](int64_t c, auto part, int i) {
      const Floats v = Row::load(x + c, part);
      squares.part[i] += v * v;
    });
    return 1 / __builtin_sqrtf(squares.total() / static_cast<float>(width) + eps);
  }

  static void map_row(const head_map_kernels::TokenMap& map, int64_t row, const float* from,
                      float* to, float* scratch) {
    head_map_kernels::TokenTables tables(map, row, scratch);
    for (int64_t head = 0; head < map.heads; ++head) {
      tables.map_head(map, head, from + head * map.channels, to + head * map.channels);
    }
  }

  template <typename T>
  static void convert(const T* from, float* to, int64_t width) {
    Row::along(width, [&](int64_t c, auto part, int) {
      Row::store(to + c, Row::load(from + c, part), part);
    });
  }

  template <typename T>
  static void forward(const Forward<T>& work) {
    const Forward<T> w = work;  // a copy that no store can alias
    float* norm = w.scratch;
    float* mapped = w.scratch + w.width;
    for (int64_t r = w.begin; r < w.end; ++r) {
      const int64_t at = r * w.width;
      const T* x = w.x + at;
      const float scale = scale_of(x, w.width, w.eps);
      Row::along(w.width, [&](int64_t c, auto part, int) {
        const Floats n = Row::load(x + c, part) * scale * Row::load(w.weight + c, part);
        if (w.mapped != nullptr) Row::store(norm + c, n, part);
        if (w.norm != nullptr) Row::store(w.norm + at + c, n, part);
      });
      if (w.mapped == nullptr) continue;
      if constexpr (sizeof(T) == sizeof(float)) {
        map_row(w.map, r, norm, w.mapped + at, mapped + w.width);
      } else {
        map_row(w.map, r, norm, mapped, mapped + w.width);
        Row::along(w.width, [&](int64_t c, auto part, int) {
          Row::store(w.mapped + at + c, Row::load(mapped + c, part), part);
        });
      }
    }
  }

  // With n = x k, k = 1 / rms, and a = weight dL/dnorm: dL/dx = k (a - n mean(a n)).
  template <typename T>
  static void backward(const Backward<T>& work) {
    const Backward<T> w = work;
    for (int64_t c = 0; c < w.width; ++c) w.sums[c] = 0;
    float* grad = w.scratch;  // of the norm
    float* wide = w.scratch + w.width;
    for (int64_t r = w.begin; r < w.end; ++r) {
      const int64_t at = r * w.width;
      const T* x = w.x + at;
      if (w.grad_mapped != nullptr) {
        if constexpr (sizeof(T) == sizeof(float)) {
          map_row(w.map, r, w.grad_mapped + at, grad, wide + w.width);
        } else {
          convert(w.grad_mapped + at, wide, w.width);
          map_row(w.map, r, wide, grad, wide + w.width);
        }
        if (w.grad_norm != nullptr) {
          Row::along(w.width, [&](int64_t c, auto part, int) {
            Row::store(grad + c, Row::load(grad + c, part) + Row::load(w.grad_norm + at + c, part),
                       part);
          });
        }
      } else {
        convert(w.grad_norm + at, grad, w.width);
      }
      const float scale = scale_of(x, w.width, w.eps);
      Sum an;
      Row::along(w.width, [&](int64_t c, auto part, int i) {
        const Floats n = Row::load(x + c, part) * scale;
        const Floats d = Row::load(grad + c, part);
        an.part[i] += d * Row::load(w.weight + c, part) * n;
        Row::store(w.sums + c, Row::load(w.sums + c, part) + d * n, part);
      });
      const float mean = an.total() / static_cast<float>(w.width);
      Row::along(w.width, [&](int64_t c, auto part, int) {
        const Floats n = Row::load(x + c, part) * scale;
        const Floats a = Row::load(grad + c, part) * Row::load(w.weight + c, part);
        Row::store(w.grad_x + at + c, (a - n * mean) * scale, part);
      });
    }
  }

  static constexpr Kernels kKernels = {forward<float>, forward<uint16_t>, backward<float>,
                                       backward<uint16_t>};
};

}  // namespace
}  // namespace loci::kernels::rms_norm_kernels
