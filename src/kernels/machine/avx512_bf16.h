// SPDX-License-Identifier: Apache-2.0
// The instructions of AVX512-BF16. For files that are compiled for it.
#pragma once

#include <immintrin.h>

namespace loci::kernels {

namespace {

struct Avx512Bf16 {
  using Floats = float __attribute__((vector_size(64)));
  using Pairs = short __attribute__((vector_size(64)));

  static Floats dot(Floats sum, Pairs a, Pairs b) {
    return (Floats)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
  }
  static Pairs narrow(Floats low, Floats high) {
    return (Pairs)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low);
  }
};

}  // namespace

}  // namespace loci::kernels
