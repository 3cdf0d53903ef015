// SPDX-License-Identifier: Apache-2.0
// Loops over rows of FP32 or BF16 numbers with vectors of 4, 8 or 16 lanes. Everything is in an
// unnamed namespace, so that instruction sets share no function. Functions are always inlined: GCC
// would otherwise call some of them, because many kernels in the same file use them.
#pragma once

#include <cstdint>

#include "loci/kernels/machine/vector_types.h"

namespace loci::kernels {
namespace {

// Selects between a full vector and the last `count` numbers of a row.
struct Whole {};
struct Part {
  int64_t count;
};

// BF16 numbers are passed as their bits.
template <int kLanes>
struct Lanes {
  using Floats = typename VectorOf<kLanes>::Floats;
  using Ints = typename VectorOf<kLanes>::Ints;
  using Words = typename VectorOf<kLanes>::Words;
  using Halves = typename VectorOf<kLanes>::Halves;

  [[gnu::always_inline]] static Floats load(const float* from, Whole) {
    Floats value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
  }
  [[gnu::always_inline]] static Floats load(const uint16_t* from, Whole) {
    Halves half;
    __builtin_memcpy(&half, from, sizeof half);
    return (Floats)(__builtin_convertvector(half, Words) << 16);
  }
  // The lanes behind the end of the row are zero.
  template <typename T>
  [[gnu::always_inline]] static Floats load(const T* from, Part part) {
    T all[kLanes] = {};
    __builtin_memcpy(all, from, static_cast<uint64_t>(part.count) * sizeof(T));
    return load(all, Whole{});
  }

  [[gnu::always_inline]] static void store(float* to, const Floats& value, Whole) {
    __builtin_memcpy(to, &value, sizeof value);
  }
  // Rounds to nearest, ties to even; NaN stays NaN.
  [[gnu::always_inline]] static void store(uint16_t* to, const Floats& value, Whole) {
    const Words bits = (Words)value;
    const Words rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
    const Halves half =
        __builtin_convertvector(value == value ? rounded : Words{} + 0x7FC0U, Halves);
    __builtin_memcpy(to, &half, sizeof half);
  }
  template <typename T>
  [[gnu::always_inline]] static void store(T* to, const Floats& value, Part part) {
    T all[kLanes];
    store(all, value, Whole{});
    __builtin_memcpy(to, all, static_cast<uint64_t>(part.count) * sizeof(T));
  }

  // Sets the lanes behind the end of the row to zero.
  [[gnu::always_inline]] static Floats within(const Floats& value, Whole) { return value; }
  [[gnu::always_inline]] static Floats within(Floats value, Part part) {
    for (int i = 0; i < kLanes; ++i) {
      if (i >= part.count) value[i] = 0;
    }
    return value;
  }

  // Four independent sums, to hide the latency of additions.
  struct Sum {
    Floats part[4] = {};
    [[gnu::always_inline]] float total() const {
      const Floats all = (part[0] + part[1]) + (part[2] + part[3]);
      float sum = 0;
      for (int i = 0; i < kLanes; ++i) sum += all[i];
      return sum;
    }
  };

  // Calls body(column, Whole or Part, index of one of four sums) along a row.
  template <typename Body>
  static void along(int64_t width, const Body& body) {
    int64_t c = 0;
    for (; c + 4 * kLanes <= width; c += 4 * kLanes) {
      body(c, Whole{}, 0);
      body(c + kLanes, Whole{}, 1);
      body(c + 2 * kLanes, Whole{}, 2);
      body(c + 3 * kLanes, Whole{}, 3);
    }
    for (; c + kLanes <= width; c += kLanes) body(c, Whole{}, 0);
    if (c < width) body(c, Part{width - c}, 0);
  }

  // e^x for x <= 0, with an error of about 2 units in the last place. x below -87 counts as -87,
  // since the result would be denormal.
  [[gnu::always_inline]] static Floats exponential(Floats x) {
    x = x < -87.0F ? Floats{} - 87.0F : x;
    const Ints power = __builtin_convertvector(x * 1.44269504F - 0.5F, Ints);
    const Floats whole = __builtin_convertvector(power, Floats);
    const Floats r = x - whole * 0.693359375F + whole * 2.12194440e-4F;  // ln 2 in two parts
    Floats p = Floats{} + 1.9875691500e-4F;
    p = p * r + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    return (p * r * r + r + 1.0F) * (Floats)((power + 127) << 23);
  }

  // 1 / (1 + e^-x) without overflow. Keeps e^-|x|, from which the derivative follows without
  // cancellation.
  struct Sigmoid {
    Floats value, power, inverse;  // inverse: 1 / (1 + power)

    [[gnu::always_inline]] explicit Sigmoid(const Floats& x)
        : power(exponential(x < 0.0F ? x : -x)), inverse(1.0F / (1.0F + power)) {
      value = x < 0.0F ? power * inverse : inverse;
    }
    [[gnu::always_inline]] Floats derivative() const { return power * inverse * inverse; }
  };
};

}  // namespace
}  // namespace loci::kernels
