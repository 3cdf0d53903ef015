// SPDX-License-Identifier: Apache-2.0
// Products of rows with packed weights. Compiled once per instruction set. Tests run the loops of
// instruction sets that the host lacks: the compiler splits long vectors, and a Machine for INT8
// can be emulated with plain arrays.
#pragma once

#include <cstdint>

#include "loci/kernels/linear/packed_linear_kernel.h"
#include "loci/kernels/linear/packed_linear_rows.h"

namespace loci::kernels::packed_linear_kernels {
namespace {

// FP32 rows times BF16 or INT4 weights, which are converted to FP32 block by block. A tile has
// kRows rows and kVectors vectors of kLanes columns.
template <int kLanes, int kVectors, int kRows>
struct FloatLoops : RowLoops<kLanes> {
  using Base = RowLoops<kLanes>;
  using Floats = typename Base::Floats;
  using Ints = typename Base::Ints;
  static constexpr int kColumns = kLanes * kVectors;
  static_assert(kPanel % kColumns == 0 && kRowBlock % kRows == 0);

  // Converts inputs [begin, begin + count) of a panel to FP32 [count][kPanel].
  static void widen_panel(const Work& work, int64_t panel, int64_t begin, int64_t count,
                          float* to) {
    const int64_t first = panel * work.in + begin;
    if (work.format == Weights::kBfloat16) {
      const uint16_t* from = static_cast<const uint16_t*>(work.weights) + first * kPanel;
      for (int64_t i = 0; i < count * kPanel; i += kLanes) store(to + i, Base::widen(from + i));
      return;
    }
    using Nibbles = typename VectorOf<kLanes>::Nibbles;
    constexpr int64_t kHalf = kPanel / 2;
    const uint8_t* from = static_cast<const uint8_t*>(work.weights) + first * kHalf;
    const float* scales =
        work.scale + panel * ((work.in + kGroup - 1) / kGroup) * kPanel + begin / kGroup * kPanel;
    for (int64_t k = 0; k < count; ++k, from += kHalf, to += kPanel) {
      const float* scale = scales + k / kGroup * kPanel;
      for (int64_t c = 0; c < kHalf; c += kLanes) {
        const Ints both = __builtin_convertvector(load<Nibbles>(from + c), Ints);
        const Floats low = __builtin_convertvector((both & 15) - 8, Floats);
        const Floats high = __builtin_convertvector((both >> 4) - 8, Floats);
        store(to + c, low * load<Floats>(scale + c));
        store(to + kHalf + c, high * load<Floats>(scale + kHalf + c));
      }
    }
  }

  // Adds `count` inputs of rows x times weights [count][kPanel] to sums.
  static void tile(const float* const (&x)[kRows], const float* weights, int64_t count, float* sums,
                   int64_t step, bool fresh) {
    Floats sum[kRows][kVectors];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) {
        sum[r][j] = fresh ? Floats{} : load<Floats>(sums + r * step + j * kLanes);
      }
    }
    for (int64_t k = 0; k < count; ++k) {
      Floats w[kVectors];
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) w[j] = load<Floats>(weights + k * kPanel + j * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const float a = x[r][k];
#pragma GCC unroll 4
        for (int j = 0; j < kVectors; ++j) sum[r][j] += a * w[j];
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) store(sums + r * step + j * kLanes, sum[r][j]);
    }
  }

  static void multiply(const Work& work) {
    const int64_t panels = work.last_panel - work.first_panel, step = panels * kPanel;
    float* sums = work.scratch;  // [kRowBlock][panels * kPanel]
    float* weights = sums + kRowBlock * step;
    const auto* x = static_cast<const float*>(work.x);
    for (int64_t begin = 0; begin < work.in; begin += kFloatDepth) {
      const int64_t count = work.in - begin < kFloatDepth ? work.in - begin : kFloatDepth;
      for (int64_t p = 0; p < panels; ++p) {
        widen_panel(work, work.first_panel + p, begin, count, weights);
        for (int64_t row = work.first_row; row < work.last_row; row += kRows) {
          const float* rows[kRows];
          for (int r = 0; r < kRows; ++r) {
            // Padding rows repeat the last row; their sums are not used.
            const int64_t here = row + r < work.last_row ? row + r : work.last_row - 1;
            rows[r] = x + here * work.in + begin;
          }
          for (int64_t c = 0; c < kPanel; c += kColumns) {
            tile(rows, weights + c, count, sums + (row - work.first_row) * step + p * kPanel + c,
                 step, begin == 0);
          }
        }
      }
    }
    for (int64_t row = work.first_row; row < work.last_row; ++row) {
      for (int64_t p = 0; p < panels; ++p) {
        Base::finish(work, row, work.first_panel + p,
                     sums + (row - work.first_row) * step + p * kPanel);
      }
    }
  }

  static constexpr WideKernels kKernels = {Base::widen_rows, multiply};
};

// The loops for INT8 weights (ByteLoops) are templates over a Machine:
//   Ints                      a vector of kLanes INT32
//   Number                    int8_t: a lane holds four inputs. int16_t: a lane holds two inputs,
//                             and weights are converted to INT16
//   Ints spread(Number*)      the inputs of one lane, in every lane
//   Ints dot(sum, a, w)       adds the products of each lane to the sum
//   kUnsigned                 whether spread() adds 128 to each input
// PlainWords is a machine without special instructions.
template <int kWidth>
struct PlainWords {
  static constexpr int kLanes = kWidth;
  static constexpr bool kUnsigned = false;
  using Ints = typename VectorOf<kLanes>::Ints;
  using Number = int16_t;

  static Ints spread(const int16_t* two) {
    int32_t bits;
    __builtin_memcpy(&bits, two, sizeof bits);
    return Ints{} + bits;
  }
  static Ints dot(const Ints& sum, const Ints& a, const Ints& w) {
    return sum + (a << 16 >> 16) * (w << 16 >> 16) + (a >> 16) * (w >> 16);
  }
};

// INT8 rows times INT8 weights, summed in INT32.
template <typename Machine, int kVectors, int kRows>
struct ByteLoops : RowLoops<Machine::kLanes> {
  using Ints = typename Machine::Ints;
  using Number = typename Machine::Number;
  static constexpr int kLanes = Machine::kLanes, kColumns = kLanes * kVectors;
  static constexpr int kDot = 4 / static_cast<int>(sizeof(Number));
  using Base = RowLoops<kLanes>;
  static_assert(kPanel % kColumns == 0 && kRowBlock % kRows == 0);

  static void quantize_rows(const RowWork& work) { Base::template quantize_rows<Number>(work); }

  // Converts [count / 4][kPanel][4] bytes to [count / 2][kPanel][2] words. The words of a lane hold
  // the first and third of four inputs, then the second and fourth, so that shifts suffice.
  static void widen_panel(const int8_t* from, int64_t count, int16_t* to) {
    using Pairs = typename VectorOf<2 * kLanes>::Shorts;
    for (int64_t k = 0; k < count; k += 4) {
      for (int64_t c = 0; c < kPanel; c += kLanes) {
        const Pairs both = load<Pairs>(from + k * kPanel + c * 4);
        store(to + k * kPanel + c * 2, (both << 8) >> 8);
        store(to + (k + 2) * kPanel + c * 2, both >> 8);
      }
    }
  }

  static void tile(const Number* const (&x)[kRows], const Number* weights, int64_t count,
                   int32_t* sums, int64_t step, bool fresh) {
    Ints sum[kRows][kVectors];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) {
        sum[r][j] = fresh ? Ints{} : load<Ints>(sums + r * step + j * kLanes);
      }
    }
    for (int64_t k = 0; k < count; k += kDot) {
      Ints w[kVectors];
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) {
        w[j] = load<Ints>(weights + k * kPanel + j * kLanes * kDot);
      }
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const Ints a = Machine::spread(x[r] + k);
#pragma GCC unroll 4
        for (int j = 0; j < kVectors; ++j) sum[r][j] = Machine::dot(sum[r][j], a, w[j]);
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) store(sums + r * step + j * kLanes, sum[r][j]);
    }
  }

  static void multiply(const Work& work) {
    const int64_t panels = work.last_panel - work.first_panel, step = panels * kPanel;
    const int64_t in = byte_inputs(work.in);
    auto* sums = reinterpret_cast<int32_t*>(work.scratch);  // [kRowBlock][panels * kPanel]
    auto* wide = reinterpret_cast<int16_t*>(sums + kRowBlock * step);
    const auto* x = static_cast<const Number*>(work.x);
    for (int64_t begin = 0; begin < in; begin += kByteDepth) {
      const int64_t count = in - begin < kByteDepth ? in - begin : kByteDepth;
      for (int64_t p = 0; p < panels; ++p) {
        const int8_t* panel = static_cast<const int8_t*>(work.weights) +
                              ((work.first_panel + p) * in + begin) * kPanel;
        if constexpr (kDot == 2) widen_panel(panel, count, wide);
        const void* weights = kDot == 2 ? static_cast<const void*>(wide) : panel;
        for (int64_t row = work.first_row; row < work.last_row; row += kRows) {
          const Number* rows[kRows];
          for (int r = 0; r < kRows; ++r) {
            const int64_t here = row + r < work.last_row ? row + r : work.last_row - 1;
            rows[r] = x + here * in + begin;
          }
          for (int64_t c = 0; c < kPanel; c += kColumns) {
            tile(rows, static_cast<const Number*>(weights) + c * kDot, count,
                 sums + (row - work.first_row) * step + p * kPanel + c, step, begin == 0);
          }
        }
      }
    }
    for (int64_t row = work.first_row; row < work.last_row; ++row) {
      for (int64_t p = 0; p < panels; ++p) {
        Base::finish_whole(work, row, work.first_panel + p,
                           sums + (row - work.first_row) * step + p * kPanel,
                           Machine::kUnsigned ? 128 : 0);
      }
    }
  }

  static constexpr Int8Kernels kKernels = {sizeof(Number), quantize_rows, multiply};
};

}  // namespace
}  // namespace loci::kernels::packed_linear_kernels
