// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "loci/kernels/linear/packed_linear_loops.h"

namespace loci::kernels::packed_linear_kernels {

namespace {

// Products of words, not of bytes: those need a sign to be moved from one factor to the other and a
// second step to sum pairs, which together cost as much, and more registers.
struct Avx2Words {
  static constexpr int kLanes = 8;
  static constexpr bool kUnsigned = false;
  using Ints = VectorOf<8>::Ints;
  using Number = int16_t;

  static Ints spread(const int16_t* two) {
    int32_t bits;
    __builtin_memcpy(&bits, two, sizeof bits);
    return (Ints)_mm256_set1_epi32(bits);
  }
  static Ints dot(Ints sum, Ints a, Ints w) {
    return sum + (Ints)_mm256_madd_epi16((__m256i)a, (__m256i)w);
  }
};

}  // namespace

Kernels avx2() { return kernels_of<FloatLoops<8, 2, 6>, ByteLoops<Avx2Words, 2, 6>>(); }

}  // namespace loci::kernels::packed_linear_kernels
