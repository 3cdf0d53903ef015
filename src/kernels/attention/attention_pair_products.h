// SPDX-License-Identifier: Apache-2.0
// Products of rows with panels of BF16 pairs, accumulated in FP32. The products are templates over
// a `Machine`, which wraps the few instructions that they need: machine/avx512_bf16.h and
// machine/amx.h wrap the real ones, the tests emulate them. A machine has
//   Pairs                        a vector of 16 pairs
//   dot(Floats sum, Pairs a, b)  adds the two products of each pair to its lane of the sum
//   narrow(Floats low, high)     32 numbers rounded to BF16
// and, if it has tiles of 16 rows of 64 bytes, numbered 0 to 7,
//   Tiles                        enables the tile registers of this thread during its lifetime
//   zero<T>(), load<T>(from, stride), store<T>(to, stride)    strides in bytes
//   dot<S, A, B>()               sums [16][16] += A [16][16 pairs] x B [16 pairs][16][2]
#pragma once

#include "loci/kernels/attention/attention_softmax.h"

namespace loci::kernels::attention_kernels {

namespace {

// Numbers of one pair of rows in a panel [pairs][kPanel][2].
inline constexpr int64_t kPairStep = 2 * kPanel;

// Products of vectors: 12 queries by 32 keys or channels. The registers hold 24 accumulators, two
// vectors of a panel, and one pair of a query in all lanes.
template <typename Machine>
struct VectorProducts {
  static constexpr int kRows = 12;
  struct Session {};
  using Soft = Softmax<16>;
  using Floats = Soft::Floats;
  using Ints = Soft::Ints;
  using Pairs = typename Machine::Pairs;

  // Position of pair `pair` of query `row` within its group of queries.
  static int64_t place(int64_t row, int64_t pair, int64_t) { return pair * kRows + row; }

  // scores [kRows][kKeyBlock] of one group of queries with one panel of keys.
  static void score(const uint32_t* query, const uint16_t* keys, int64_t channels, float* scores) {
    multiply<1, kRows>(query, keys, channels / 2, nullptr, scores, kKeyBlock);
  }

  // out [kRows][channels] = out * fade + weights [kRows][kKeyBlock] x one panel of values.
  static void add(const uint16_t* weights, const uint16_t* values, int64_t keys, const float* fade,
                  float* out, int64_t channels) {
    multiply<kKeyBlock / 2, 1>(reinterpret_cast<const uint32_t*>(weights), values, keys / 2, fade,
                               out, channels);
  }

 private:
  static Pairs load(const uint16_t* from) {
    Pairs pairs;
    __builtin_memcpy(&pairs, from, sizeof pairs);
    return pairs;
  }

  // Loops over the accumulators are unrolled to keep them in registers.
  template <int64_t kRowStep, int64_t kStep>
  static void multiply(const uint32_t* rows, const uint16_t* panel, int64_t pairs,
                       const float* fade, float* to, int64_t stride) {
    Floats sum[kRows][2];
    if (fade == nullptr) {
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) sum[r][0] = sum[r][1] = Floats{};
    } else {
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        sum[r][0] = fade[r] * Soft::load(to + r * stride);
        sum[r][1] = fade[r] * Soft::load(to + r * stride + 16);
      }
    }
    for (int64_t p = 0; p < pairs; ++p) {
      const Pairs left = load(panel + p * kPairStep), right = load(panel + p * kPairStep + 32);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        uint32_t word;
        __builtin_memcpy(&word, rows + r * kRowStep + p * kStep, sizeof word);
        const Ints everywhere = Ints{} + static_cast<int32_t>(word);
        Pairs pair;
        __builtin_memcpy(&pair, &everywhere, sizeof pair);
        sum[r][0] = Machine::dot(sum[r][0], left, pair);
        sum[r][1] = Machine::dot(sum[r][1], right, pair);
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      Soft::store(to + r * stride, sum[r][0]);
      Soft::store(to + r * stride + 16, sum[r][1]);
    }
  }
};

// Products of tiles: 32 queries by 32 keys or channels. Four tiles hold sums, two hold rows and two
// hold parts of a panel. Each loaded tile is used twice.
template <typename Machine>
struct TileProducts {
  static constexpr int kRows = 32;
  using Session = typename Machine::Tiles;
  using Soft = Softmax<16>;

  static int64_t place(int64_t row, int64_t pair, int64_t channels) {
    return row * (channels / 2) + pair;
  }

  static void score(const uint32_t* query, const uint16_t* keys, int64_t channels, float* scores) {
    Machine::template zero<0>();
    Machine::template zero<1>();
    Machine::template zero<2>();
    Machine::template zero<3>();
    multiply(reinterpret_cast<const uint16_t*>(query), channels, keys, channels, scores, kKeyBlock);
  }

  static void add(const uint16_t* weights, const uint16_t* values, int64_t keys, const float* fade,
                  float* out, int64_t channels) {
    // Tiles cannot be scaled, so the rows are scaled in memory. Few rows need it.
    for (int r = 0; r < kRows; ++r) {
      if (fade[r] == 1.0F) continue;
      float* row = out + r * channels;
      Soft::store(row, fade[r] * Soft::load(row));
      Soft::store(row + 16, fade[r] * Soft::load(row + 16));
    }
    const int64_t bytes = channels * kFloat;
    Machine::template load<0>(out, bytes);
    Machine::template load<1>(out + 16, bytes);
    Machine::template load<2>(out + 16 * channels, bytes);
    Machine::template load<3>(out + 16 * channels + 16, bytes);
    multiply(weights, kKeyBlock, values, keys, out, channels);
  }

 private:
  static constexpr int64_t kFloat = sizeof(float), kHalf = sizeof(uint16_t);

  static void multiply(const uint16_t* rows, int64_t row_stride, const uint16_t* panel,
                       int64_t depth, float* to, int64_t stride) {
    for (int64_t i = 0; i < depth; i += 32) {
      Machine::template load<4>(rows + i, row_stride * kHalf);
      Machine::template load<6>(panel + i / 2 * kPairStep, kPairStep * kHalf);
      Machine::template dot<0, 4, 6>();
      Machine::template load<7>(panel + i / 2 * kPairStep + 32, kPairStep * kHalf);
      Machine::template dot<1, 4, 7>();
      Machine::template load<5>(rows + 16 * row_stride + i, row_stride * kHalf);
      Machine::template dot<2, 5, 6>();
      Machine::template dot<3, 5, 7>();
    }
    Machine::template store<0>(to, stride * kFloat);
    Machine::template store<1>(to + 16, stride * kFloat);
    Machine::template store<2>(to + 16 * stride, stride * kFloat);
    Machine::template store<3>(to + 16 * stride + 16, stride * kFloat);
  }
};

}  // namespace

}  // namespace loci::kernels::attention_kernels
