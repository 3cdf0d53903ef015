// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "loci/kernels/machine/peak_loops.h"

namespace loci::kernels::peak_kernels {

namespace {
// Unsigned bytes times signed ones, in quadruples.
struct Bytes {
  using Sum = int32_t;
  using Sums = int32_t __attribute__((vector_size(64)));
  using Factors = int32_t __attribute__((vector_size(64)));
  static Sums dot(Sums sum, Factors a, Factors b) {
    return (Sums)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
  }
};
}  // namespace

double avx512_vnni(int64_t rounds, float* sink) { return dot_products<Bytes, 24, 4>(rounds, sink); }

}  // namespace loci::kernels::peak_kernels
