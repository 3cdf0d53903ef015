// SPDX-License-Identifier: Apache-2.0
// Conversion of input rows and the epilogue of output rows for PackedLinear. Compiled once per
// instruction set.
#pragma once

#include <cstdint>

#include "loci/kernels/elementwise/gelu_loops.h"
#include "loci/kernels/linear/packed_linear_kernel.h"
#include "loci/kernels/machine/lanes.h"
#include "loci/kernels/machine/vector_types.h"

namespace loci::kernels::packed_linear_kernels {
namespace {

template <typename Vector>
inline Vector load(const void* from) {
  Vector lanes;
  __builtin_memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
template <typename Vector>
inline void store(void* to, const Vector& lanes) {
  __builtin_memcpy(to, &lanes, sizeof lanes);
}

// Operations on rows, kLanes numbers at a time.
template <int kLanes>
struct RowLoops {
  using Floats = typename VectorOf<kLanes>::Floats;
  using Ints = typename VectorOf<kLanes>::Ints;
  using Bytes = typename VectorOf<kLanes>::Bytes;
  using Shorts = typename VectorOf<kLanes>::Shorts;

  using Row = Lanes<kLanes>;

  static Floats widen(const uint16_t* from) { return Row::load(from, Whole{}); }

  static void widen_rows(const RowWork& work) {
    const auto* x = static_cast<const uint16_t*>(work.x);
    int64_t i = work.first * work.in;
    const int64_t end = work.last * work.in;
    for (; i + kLanes <= end; i += kLanes) store(work.wide + i, widen(x + i));
    for (; i < end; ++i) {
      const uint32_t bits = static_cast<uint32_t>(x[i]) << 16;
      __builtin_memcpy(work.wide + i, &bits, sizeof bits);
    }
  }

  // kLanes numbers of a row from position `i`, padded with zeros.
  static Floats row_part(const RowWork& work, int64_t row, int64_t i) {
    const int64_t at = row * work.in + i;
    const auto* wide = static_cast<const float*>(work.x) + at;
    const auto* half = static_cast<const uint16_t*>(work.x) + at;
    if (i + kLanes <= work.in) return work.bfloat16 ? widen(half) : load<Floats>(wide);
    float some[kLanes] = {};
    for (int64_t k = 0; k < work.in - i; ++k) {
      const uint32_t bits = work.bfloat16 ? static_cast<uint32_t>(half[k]) << 16 : 0;
      __builtin_memcpy(some + k, work.bfloat16 ? static_cast<const void*>(&bits) : wide + k,
                       sizeof bits);
    }
    return load<Floats>(some);
  }

  // Swaps the second and third of every four numbers, see ByteLoops::widen_panel().
  static Shorts swap_middle(const Shorts& four) {
    Shorts order;
    for (int i = 0; i < kLanes; ++i) {
      order[i] = static_cast<int16_t>(i % 4 == 1 ? i + 1 : i % 4 == 2 ? i - 1 : i);
    }
    return shuffled(four, four, order);
  }

  // Number: int8_t, or int16_t after swap_middle().
  template <typename Number>
  static void quantize_rows(const RowWork& work) {
    const int64_t padded = byte_inputs(work.in);
    for (int64_t row = work.first; row < work.last; ++row) {
      Floats top = {}, poison = {};
      for (int64_t i = 0; i < work.in; i += kLanes) {
        const Floats v = row_part(work, row, i);
        const Floats size = v < 0.0F ? -v : v;
        top = size > top ? size : top;
        poison += v - v;  // 0, or NaN if v is not finite
      }
      float largest = 0, broken = 0;
      for (int i = 0; i < kLanes; ++i) {
        largest = top[i] > largest ? top[i] : largest;
        broken += poison[i];
      }
      const bool usable = broken == 0 && largest > 1e-30F;
      const float inverse = usable ? 127.0F / largest : 0.0F;
      work.scale[row] = usable ? largest / 127.0F : broken;
      auto* to = static_cast<Number*>(work.numbers) + row * padded;
      for (int64_t i = 0; i < padded; i += kLanes) {
        const Floats scaled = usable ? row_part(work, row, i) * inverse : Floats{};
        // Rounds half away from zero by truncation. Adding 0.5 could be fused with the product and
        // skip its rounding.
        const Ints cut = __builtin_convertvector(scaled, Ints);
        const Floats rest = scaled - __builtin_convertvector(cut, Floats);
        const Ints whole = cut - (Ints)(rest >= 0.5F) + (Ints)(rest <= -0.5F);
        const int64_t count = padded - i < kLanes ? padded - i : kLanes;
        if constexpr (sizeof(Number) == 1) {
          const Bytes bytes = __builtin_convertvector(whole, Bytes);
          __builtin_memcpy(to + i, &bytes, static_cast<uint64_t>(count));
        } else {
          const Shorts words = swap_middle(__builtin_convertvector(whole, Shorts));
          __builtin_memcpy(to + i, &words, static_cast<uint64_t>(count) * sizeof(Number));
        }
      }
    }
  }

  // kLanes numbers of the addend from `position`, zero from the `count`-th on.
  static Floats addend(const Work& work, int64_t position, int64_t count) {
    const auto* wide = static_cast<const float*>(work.epilogue.addend) + position;
    const auto* half = static_cast<const uint16_t*>(work.epilogue.addend) + position;
    if (work.epilogue.addend_bfloat16) {
      uint16_t some[kLanes] = {};
      for (int i = 0; i < kLanes && i < count; ++i) some[i] = half[i];
      return widen(some);
    }
    if (count >= kLanes) return load<Floats>(wide);
    float some[kLanes] = {};
    for (int64_t i = 0; i < count; ++i) some[i] = wide[i];
    return load<Floats>(some);
  }

  // Applies the epilogue to the kPanel scaled sums of one row and panel, and stores the result.
  static void finish(const Work& work, int64_t row, int64_t panel, float* sums) {
    const Epilogue& e = work.epilogue;
    const int64_t column = panel * kPanel;
    const int64_t count = work.out - column < kPanel ? work.out - column : kPanel;
    const float* gate = e.gate == nullptr ? nullptr : e.gate + row / e.gate_rows * work.out;
    const float* residual = e.residual == nullptr ? nullptr : e.residual + row * work.out;
    const auto at = [&](const float* from, int64_t c) {  // zero behind the last channel
      if (c + kLanes <= count) return load<Floats>(from + column + c);
      float some[kLanes] = {};
      for (int64_t i = c; i < count; ++i) some[i - c] = from[column + i];
      return load<Floats>(some);
    };
    for (int64_t c = 0; c < count; c += kLanes) {
      Floats y = load<Floats>(sums + c);
      if (e.bias != nullptr) y += at(e.bias, c);
      if (e.gelu) y = gelu_kernels::Loops<kLanes>::gelu(y);
      if (e.addend != nullptr) y += addend(work, row * work.out + column + c, count - c);
      if (gate != nullptr) y *= at(gate, c);
      if (residual != nullptr) y += at(residual, c);
      const int64_t width = count - c < kLanes ? count - c : kLanes;
      const int64_t to = row * work.out + column + c;
      if (work.bfloat16) {
        Row::store(static_cast<uint16_t*>(work.y) + to, y, Part{width});
      } else {
        Row::store(static_cast<float*>(work.y) + to, y, Part{width});
      }
    }
  }

  // The same for INT32 sums, after subtracting `offset` times the sum of the weights.
  static void finish_whole(const Work& work, int64_t row, int64_t panel, const int32_t* sums,
                           int32_t offset) {
    const int64_t column = panel * kPanel;
    float scaled[kPanel];
    for (int64_t c = 0; c < kPanel; ++c) {
      const int32_t whole = sums[c] - offset * work.column_sum[column + c];
      scaled[c] = static_cast<float>(whole) * (work.row_scale[row] * work.scale[column + c]);
    }
    finish(work, row, panel, scaled);
  }
};

}  // namespace
}  // namespace loci::kernels::packed_linear_kernels
