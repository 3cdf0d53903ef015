// SPDX-License-Identifier: Apache-2.0
// The gradient of the weight of a 3x3 convolution. Compiled once per instruction set.
//
// For each of the nine taps it is a product of matrices, grad_y' x, whose long side is the pixels.
// A row of a picture is one block of that side: x, grad_y and the sums of all taps then stay in the
// L1 and L2 caches.
#pragma once

#include "loci/kernels/convolution/conv_weight_gradient_kernel.h"
#include "loci/kernels/machine/matrix_tiles.h"

namespace loci::kernels::conv_weight_gradient_kernels {
namespace {

template <int kLanes, int kTileRows>
struct Loops {
  // Adds to kLanes * kVectors columns of the output channels [first_out, last_out): tiles of as
  // many rows as the registers allow, then smaller ones.
  template <int kLanesHere, int kVectors>
  static void columns(const Work& w, const float* x, const float* grad_y, int64_t pixels,
                      float* grad_weight) {
    const int64_t stride = 9 * w.in;
    int64_t o = w.first_out;
    const auto rows = [&]<typename T>(const T&) {
      for (; o + T::kRows <= w.last_out; o += T::kRows) {
        T::template tile<Left::kColumns, Into::kAdd>(grad_y + o, w.out, x, w.in, pixels,
                                                     grad_weight + o * stride, stride);
      }
    };
    rows(Tiles<kLanesHere, kVectors, kTileRows>{});
    if constexpr (kTileRows > 4) rows(Tiles<kLanesHere, kVectors, 4>{});
    rows(Tiles<kLanesHere, kVectors, 2>{});
    rows(Tiles<kLanesHere, kVectors, 1>{});
  }

  // Numbers of input channels that do not fill a vector.
  static void scalars(const Work& w, int64_t c, const float* x, const float* grad_y, int64_t pixels,
                      float* grad_weight) {
    for (int64_t o = w.first_out; o < w.last_out; ++o) {
      for (int64_t i = c; i < w.in; ++i) {
        float sum = 0;
        for (int64_t p = 0; p < pixels; ++p) sum += grad_y[p * w.out + o] * x[p * w.in + i];
        grad_weight[o * 9 * w.in + i] += sum;
      }
    }
  }

  // One tap of one row of a picture.
  static void tap(const Work& w, const float* x, const float* grad_y, int64_t pixels,
                  float* grad_weight) {
    int64_t c = 0;
    for (; c + 2 * kLanes <= w.in; c += 2 * kLanes) {
      columns<kLanes, 2>(w, x + c, grad_y, pixels, grad_weight + c);
    }
    for (; c + kLanes <= w.in; c += kLanes) {
      columns<kLanes, 1>(w, x + c, grad_y, pixels, grad_weight + c);
    }
    if constexpr (kLanes > 4) {
      for (; c + 4 <= w.in; c += 4) columns<4, 1>(w, x + c, grad_y, pixels, grad_weight + c);
    }
    if (c < w.in) scalars(w, c, x, grad_y, pixels, grad_weight);
  }

  static void run(const Work& w) {
    for (int64_t n = 0; n < w.pictures; ++n) {
      for (int64_t y = 0; y < w.height; ++y) {
        const float* grad_y = w.grad_y + (n * w.height + y) * w.width * w.out;
        for (int64_t i = 0; i < 9; ++i) {
          // Tap (dy, dx) multiplies pixel (y + dy, x + dx), which is zero outside the picture.
          const int64_t dy = i / 3 - 1, dx = i % 3 - 1;
          if (y + dy < 0 || y + dy >= w.height) continue;
          const int64_t first = dx < 0 ? 1 : 0, last = dx > 0 ? w.width - 1 : w.width;
          if (last <= first) continue;
          const float* x = w.x + ((n * w.height + y + dy) * w.width + first + dx) * w.in;
          tap(w, x, grad_y + first * w.out, last - first, w.grad_weight + i * w.in);
        }
      }
    }
  }

  static constexpr Kernels kKernels = {run};
};

}  // namespace
}  // namespace loci::kernels::conv_weight_gradient_kernels
