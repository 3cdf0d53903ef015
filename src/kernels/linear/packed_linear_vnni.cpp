// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "loci/kernels/linear/packed_linear_loops.h"

namespace loci::kernels::packed_linear_kernels {

namespace {

// The instruction takes one factor without a sign: inputs plus 128, and 128 times the sum of the
// weights is subtracted in the end.
struct VnniBytes {
  static constexpr int kLanes = 16;
  static constexpr bool kUnsigned = true;
  using Ints = VectorOf<16>::Ints;
  using Number = int8_t;

  static Ints spread(const int8_t* four) {
    uint32_t bits;
    __builtin_memcpy(&bits, four, sizeof bits);
    return (Ints)_mm512_set1_epi32(static_cast<int32_t>(bits ^ 0x80808080U));
  }
  static Ints dot(Ints sum, Ints a, Ints w) {
    return (Ints)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)a, (__m512i)w);
  }
};

}  // namespace

Kernels avx512_vnni() { return kernels_of<FloatLoops<16, 2, 12>, ByteLoops<VnniBytes, 2, 12>>(); }

}  // namespace loci::kernels::packed_linear_kernels
