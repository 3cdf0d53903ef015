// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "loci/kernels/linear/packed_linear_loops.h"

namespace loci::kernels::packed_linear_kernels {

namespace {

struct Avx512Words {
  static constexpr int kLanes = 16;
  static constexpr bool kUnsigned = false;
  using Ints = VectorOf<16>::Ints;
  using Number = int16_t;

  static Ints spread(const int16_t* two) {
    int32_t bits;
    __builtin_memcpy(&bits, two, sizeof bits);
    return (Ints)_mm512_set1_epi32(bits);
  }
  static Ints dot(Ints sum, Ints a, Ints w) {
    return sum + (Ints)_mm512_madd_epi16((__m512i)a, (__m512i)w);
  }
};

}  // namespace

Kernels avx512() { return kernels_of<FloatLoops<16, 2, 12>, ByteLoops<Avx512Words, 2, 12>>(); }

}  // namespace loci::kernels::packed_linear_kernels
