// SPDX-License-Identifier: Apache-2.0
// Small FP32 matrix products in scratch memory. Compiled once per instruction set. A tile has kRows
// rows and kVectors vectors of kLanes columns, as many accumulators as fit the registers. Sizes are
// multiples of the tile; callers pad with zeros.
#pragma once

#include <cstdint>

#include "loci/kernels/machine/vector_types.h"

namespace loci::kernels {

namespace {

// Layout of the left factor A: a[row * stride + depth], or transposed, a[depth * stride + row].
enum class Left { kRows, kColumns };
// out = A B, out += A B or out -= A B.
enum class Into { kSet, kAdd, kSubtract };

template <int kLanes, int kVectors, int kTileRows>
struct Tiles {
  using Floats = typename VectorOf<kLanes>::Floats;
  static constexpr int kRows = kTileRows;
  static constexpr int kColumns = kLanes * kVectors;

  static Floats load(const float* from) {
    Floats lanes;
    __builtin_memcpy(&lanes, from, sizeof lanes);
    return lanes;
  }
  static void store(float* to, const Floats& lanes) { __builtin_memcpy(to, &lanes, sizeof lanes); }
  static float total(const Floats& lanes) {
    float sum = 0;
    for (int i = 0; i < kLanes; ++i) sum += lanes[i];
    return sum;
  }

  static constexpr int64_t whole_rows(int64_t rows) { return (rows + kRows - 1) / kRows * kRows; }
  static constexpr int64_t whole_columns(int64_t columns) {
    return (columns + kColumns - 1) / kColumns * kColumns;
  }

  template <Left kLeft, Into kInto>
  static void tile(const float* a, int64_t a_stride, const float* b, int64_t b_stride,
                   int64_t depth, float* out, int64_t out_stride) {
    Floats sum[kRows][kVectors];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      for (int j = 0; j < kVectors; ++j) {
        sum[r][j] = kInto == Into::kSet ? Floats{} : load(out + r * out_stride + j * kLanes);
      }
    }
    for (int64_t t = 0; t < depth; ++t) {
      Floats column[kVectors];
      for (int j = 0; j < kVectors; ++j) column[j] = load(b + t * b_stride + j * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const float factor = kLeft == Left::kRows ? a[r * a_stride + t] : a[t * a_stride + r];
        for (int j = 0; j < kVectors; ++j) {
          if constexpr (kInto == Into::kSubtract) {
            sum[r][j] -= factor * column[j];
          } else {
            sum[r][j] += factor * column[j];
          }
        }
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      for (int j = 0; j < kVectors; ++j) store(out + r * out_stride + j * kLanes, sum[r][j]);
    }
  }

  // Multiplies A [rows, depth] by B [depth, columns] into out [rows, columns]. Strides are
  // distances between rows in memory.
  template <Left kLeft, Into kInto>
  static void multiply(const float* a, int64_t a_stride, const float* b, int64_t b_stride,
                       int64_t rows, int64_t columns, int64_t depth, float* out,
                       int64_t out_stride) {
    for (int64_t c = 0; c < columns; c += kColumns) {
      for (int64_t r = 0; r < rows; r += kRows) {
        tile<kLeft, kInto>(kLeft == Left::kRows ? a + r * a_stride : a + r, a_stride, b + c,
                           b_stride, depth, out + r * out_stride + c, out_stride);
      }
    }
  }

  // to[c * to_stride + r] = from[r * from_stride + c]. rows and columns are multiples of four.
  static void transpose(const float* from, int64_t from_stride, int64_t rows, int64_t columns,
                        float* to, int64_t to_stride) {
    using Four = VectorOf<4>::Floats;
    for (int64_t r = 0; r < rows; r += 4) {
      for (int64_t c = 0; c < columns; c += 4) {
        Four x[4];
        for (int i = 0; i < 4; ++i) {
          __builtin_memcpy(&x[i], from + (r + i) * from_stride + c, sizeof(Four));
        }
        const Four a = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);
        const Four b = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
        const Four d = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
        const Four e = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
        const Four y[4] = {
            __builtin_shufflevector(a, b, 0, 1, 4, 5), __builtin_shufflevector(a, b, 2, 3, 6, 7),
            __builtin_shufflevector(d, e, 0, 1, 4, 5), __builtin_shufflevector(d, e, 2, 3, 6, 7)};
        for (int i = 0; i < 4; ++i) {
          __builtin_memcpy(to + (c + i) * to_stride + r, &y[i], sizeof(Four));
        }
      }
    }
  }
};

}  // namespace

}  // namespace loci::kernels
