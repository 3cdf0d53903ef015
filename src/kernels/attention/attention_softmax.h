// SPDX-License-Identifier: Apache-2.0
// Building blocks of the streaming softmax in all attention loops. Compiled once per instruction
// set.
#pragma once

#include "loci/kernels/attention/attention_rows.h"

namespace loci::kernels::attention_kernels {

namespace {

inline constexpr float kLog2E = 1.4426950408889634F;
inline constexpr float kMasked = -1e30F;  // the score of padding keys

// Accuracy of power_of_two(): a relative error of 2e-7, or of 7.5e-5, which is a fiftieth of the
// error of rounding the result to BF16.
enum class Precision { kFloat, kBfloat16 };

template <int kLanes>
struct Softmax {
  using Floats = typename VectorOf<kLanes>::Floats;
  using Ints = typename VectorOf<kLanes>::Ints;
  using Words = typename VectorOf<kLanes>::Words;

  static Floats load(const float* from) {
    Floats lanes;
    __builtin_memcpy(&lanes, from, sizeof lanes);
    return lanes;
  }
  static void store(float* to, const Floats& lanes) { __builtin_memcpy(to, &lanes, sizeof lanes); }

  // -126, hidden from the compiler: GCC 12 turns a comparison into a maximum instruction only if
  // neither side is a constant.
  static float lowest_power() {
    uint32_t bits = 0xC2FC0000;
    __asm__("" : "+r"(bits));
    float power;
    __builtin_memcpy(&power, &bits, sizeof power);
    return power;
  }

  // 2^x for x <= 0 or slightly above: an exact power times a minimax polynomial for 2^f with
  // |f| <= 1/2. x below -126 counts as -126, so that masked scores give 1e-38 and no infinity
  // occurs.
  template <Precision kPrecision>
  static Floats power_of_two(Floats x) {
    const Floats floor = Floats{} + lowest_power();
    x = x < floor ? floor : x;
    const Floats shifter = Floats{} + 12582912.0F;  // 1.5 * 2^23: rounds to whole numbers
    const Floats shifted = x + shifter;
    const Floats f = x - (shifted - shifter);
    Floats sum;
    if constexpr (kPrecision == Precision::kFloat) {
      sum = Floats{} + 1.327647245e-3F;
      sum = sum * f + 9.675540961e-3F;
      sum = sum * f + 5.550713092e-2F;
      sum = sum * f + 2.402212024e-1F;
      sum = sum * f + 6.931469440e-1F;
      sum = sum * f + 1.0F;
    } else {
      sum = Floats{} + 5.517166853e-2F;
      sum = sum * f + 2.426111251e-1F;
      sum = sum * f + 6.932609677e-1F;
      sum = sum * f + 9.999280572e-1F;
    }
    Words exponent, bits;  // unsigned: the addition may wrap
    __builtin_memcpy(&exponent, &shifted, sizeof exponent);
    __builtin_memcpy(&bits, &sum, sizeof bits);
    bits += exponent << 23;  // the low bits of `shifted` hold the integer part
    Floats result;
    __builtin_memcpy(&result, &bits, sizeof result);
    return result;
  }

  // The largest of `count` numbers; `count` is a multiple of kLanes. NaN may be ignored.
  static float largest_of(const float* numbers, int64_t count) {
    Floats top = load(numbers);
    for (int64_t i = kLanes; i < count; i += kLanes) {
      const Floats next = load(numbers + i);
      top = next > top ? next : top;
    }
#pragma GCC unroll 4
    for (int step = kLanes / 2; step > 0; step /= 2) {
      Ints order;
      for (int i = 0; i < kLanes; ++i) order[i] = i ^ step;
      const Floats other = shuffled(top, top, order);
      top = other > top ? other : top;
    }
    return top[0];
  }

  static float sum_of(const float* numbers) {
    float sum = 0;
    for (int i = 0; i < kLanes; ++i) sum += numbers[i];
    return sum;
  }

  // The factor for earlier sums after the largest score (as an exponent of 2) has risen.
  static float fading(float before, float now) {
    return before == now ? 1.0F : power_of_two<Precision::kFloat>(Floats{} + (before - now))[0];
  }
};

}  // namespace

}  // namespace loci::kernels::attention_kernels
