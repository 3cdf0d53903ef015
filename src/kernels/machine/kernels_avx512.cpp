// SPDX-License-Identifier: Apache-2.0
// Kernels for AVX-512 F, BW, DQ and VL.
#include <immintrin.h>

#include "loci/kernels/machine/float_kernels.h"
#include "loci/kernels/machine/peak_loops.h"

namespace loci::kernels {

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

void add_avx512_kernels(KernelTable& table) {
  add_float_kernels<16, 12>(table);
  table.packed_linear.int8 = packed_linear_kernels::ByteLoops<Avx512Words, 2, 12>::kKernels;
  table.peak.fp32 = peak_kernels::multiply_add<VectorOf<16>::Floats, 24>;
}

}  // namespace loci::kernels
