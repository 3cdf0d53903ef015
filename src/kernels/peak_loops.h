// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set, by a file compiled for it.
#pragma once

#include "loci/kernels/peak.h"

namespace loci::kernels::peak_kernels {

namespace {

template <typename Floats, int kSums>
double multiply_add(int64_t rounds, float* sink) {
  // Every loop over the sums is unrolled, so that they live in registers.
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

}  // namespace

}  // namespace loci::kernels::peak_kernels
