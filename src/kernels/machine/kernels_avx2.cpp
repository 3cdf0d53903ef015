// SPDX-License-Identifier: Apache-2.0
// Kernels for AVX2 with FMA.
#include <immintrin.h>

#include "loci/kernels/elementwise/head_map_loops.h"
#include "loci/kernels/machine/float_kernels.h"
#include "loci/kernels/machine/peak_loops.h"

namespace loci::kernels {

namespace {

// Multiplies INT16, not INT8: products of bytes need the sign of one factor moved to the other and
// a second step that adds pairs. Together these cost as much, and need more registers.
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

void add_avx2_kernels(KernelTable& table) {
  add_float_kernels<8, 6>(table);
  table.head_map = {head_map_kernels::run};
  table.packed_linear.int8 = packed_linear_kernels::ByteLoops<Avx2Words, 2, 6>::kKernels;
  table.peak.fp32 = peak_kernels::multiply_add<VectorOf<8>::Floats, 12>;
}

}  // namespace loci::kernels
