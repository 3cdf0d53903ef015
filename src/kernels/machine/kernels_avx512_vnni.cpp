// SPDX-License-Identifier: Apache-2.0
// Kernels for AVX512-VNNI: dot products of four bytes.
#include <immintrin.h>

#include "loci/kernels/linear/packed_linear_loops.h"
#include "loci/kernels/machine/kernel_table.h"
#include "loci/kernels/machine/peak_loops.h"

namespace loci::kernels {

namespace {

// VPDPBUSD takes unsigned bytes times signed bytes, so 128 is added to every input. The loops
// subtract 128 times the sum of the weights from the result.
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

struct PeakBytes : VnniBytes {
  using Sum = int32_t;
  using Sums = VnniBytes::Ints;
  using Factors = VnniBytes::Ints;
};

}  // namespace

void add_avx512_vnni_kernels(KernelTable& table) {
  table.packed_linear.int8 = packed_linear_kernels::ByteLoops<VnniBytes, 2, 12>::kKernels;
  table.peak.int8 = peak_kernels::dot_products<PeakBytes, 24, 4>;
}

}  // namespace loci::kernels
