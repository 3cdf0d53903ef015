// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/machine/peak.h"

#include <gtest/gtest.h>

#include "loci/kernels/machine/cpu_features.h"
#include "loci/kernels/machine/peak_loops.h"

namespace loci::kernels {
namespace {

// Machines that count multiplications and additions.
double counted = 0;

struct CountingVectors {
  using Sum = float;
  using Sums = float __attribute__((vector_size(64)));
  using Factors = short __attribute__((vector_size(64)));
  static Sums dot(Sums sum, Factors, Factors) {
    counted += 2.0 * 32;  // 32 products of 16 pairs, each added
    return sum;
  }
};

struct CountingTiles {
  struct Tiles {
    Tiles() { ++open; }
    ~Tiles() { --open; }
  };
  static inline int open = 0;

  template <int kTile>
  static void zero() {
    EXPECT_EQ(open, 1);
  }
  template <int kTile>
  static void store(float (*to)[16], size_t stride) {
    EXPECT_EQ(stride, 64U);
    to[0][0] = 5;
  }
  template <int kSums, int kA, int kB>
  static void multiply() {
    EXPECT_EQ(open, 1);
    counted += 2.0 * 16 * 16 * 32;  // 16 x 16 sums of 16 pairs
  }
};

TEST(Peak, LoopsReturnTheirNumberOfOperations) {
  float sink = 0;
  counted = 0;
  const double vectors = peak_kernels::dot_products<CountingVectors, 24, 2>(7, &sink);
  EXPECT_EQ(vectors, counted);
  EXPECT_EQ(sink, 23 * 24 / 2);  // all sums, which start as 0, 1, 2, ...
  sink = 0;
  counted = 0;
  const double tiles = peak_kernels::tile_products<CountingTiles, 2>(7, &sink);
  EXPECT_EQ(tiles, counted);
  EXPECT_EQ(sink, 5);
  EXPECT_EQ(CountingTiles::open, 0);
}

TEST(Peak, IsMeasuredForTheArithmeticOfTheLevel) {
  for (const IsaLevel level : kIsaLevels) {
    if (level > cpu_features().best_level()) break;
    const IsaOverride chosen(level);
    const auto rate = [](Arithmetic arithmetic) { return measure_peak(arithmetic, 0.01); };
    EXPECT_GT(rate(Arithmetic::kFloat).value_or(0), 1e6) << name_of(level);
    const auto pairs = rate(Arithmetic::kBfloat16);
    EXPECT_EQ(pairs.has_value(), level >= IsaLevel::kAvx512Bf16) << name_of(level);
    EXPECT_GT(pairs.value_or(1e7), 1e6);
    const auto bytes = rate(Arithmetic::kInt8);
    EXPECT_TRUE(level >= IsaLevel::kAvx512 || !bytes.has_value()) << name_of(level);
    EXPECT_GT(bytes.value_or(1e7), 1e6);
  }
  EXPECT_EQ(name_of(Arithmetic::kInt8), "INT8");
}

}  // namespace
}  // namespace loci::kernels
