// SPDX-License-Identifier: Apache-2.0
// Loops of multiplications and additions on registers. Compiled once per instruction set.
#pragma once

#include "loci/kernels/machine/peak_kernel.h"

namespace loci::kernels::peak_kernels {

namespace {

template <typename Floats, int kSums>
double multiply_add(int64_t rounds, float* sink) {
  // Loops over the accumulators are unrolled to keep them in registers.
  Floats sum[kSums];
#pragma GCC unroll 32
  for (int i = 0; i < kSums; ++i) sum[i] = Floats{} + 0.001F * static_cast<float>(i);
  const Floats factor = Floats{} + 0.999F, term = Floats{} + 1e-4F;
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 32
    for (int i = 0; i < kSums; ++i) sum[i] = sum[i] * factor + term;
  }
#pragma GCC unroll 32
  for (int i = 0; i < kSums; ++i) sink[0] += sum[i][0];
  constexpr double kLanes = sizeof(Floats) / sizeof(float);
  return 2 * kLanes * kSums * static_cast<double>(rounds);
}

// The same with dot products. kNumbers: products per lane and instruction.
template <typename Machine, int kSums, int kNumbers>
double dot_products(int64_t rounds, float* sink) {
  using Sums = typename Machine::Sums;
  const typename Machine::Factors left{}, right{};
  Sums sum[kSums];
#pragma GCC unroll 32
  for (int i = 0; i < kSums; ++i) {
    sum[i] = Sums{} + static_cast<typename Machine::Sum>(
                          i);  // different, so that the compiler keeps all of them
  }
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 32
    for (int i = 0; i < kSums; ++i) sum[i] = Machine::dot(sum[i], left, right);
  }
#pragma GCC unroll 32
  for (int i = 0; i < kSums; ++i) sink[0] += static_cast<float>(sum[i][0]);
  constexpr double kLanes = sizeof(Sums) / sizeof(float);
  return 2 * kLanes * kNumbers * kSums * static_cast<double>(rounds);
}

// The same with tiles: four accumulators and two plus two factors, as in attention.
template <typename Machine, int kNumbers>
double tile_products(int64_t rounds, float* sink) {
  const typename Machine::Tiles tiles;
  Machine::template zero<0>();
  Machine::template zero<1>();
  Machine::template zero<2>();
  Machine::template zero<3>();
  Machine::template zero<4>();
  Machine::template zero<5>();
  Machine::template zero<6>();
  Machine::template zero<7>();
  for (int64_t round = 0; round < rounds; ++round) {
    Machine::template multiply<0, 4, 6>();
    Machine::template multiply<1, 4, 7>();
    Machine::template multiply<2, 5, 6>();
    Machine::template multiply<3, 5, 7>();
  }
  float sums[16][16];
  Machine::template store<0>(sums, sizeof sums[0]);
  sink[0] += sums[0][0];
  return 2.0 * 16 * 16 * 16 * kNumbers * 4 * static_cast<double>(rounds);
}

}  // namespace

}  // namespace loci::kernels::peak_kernels
