// SPDX-License-Identifier: Apache-2.0
// Kernels for AVX512-BF16: dot products of BF16 pairs.
#include "loci/kernels/attention/attention_backward_pair_loops.h"
#include "loci/kernels/attention/attention_pair_loops.h"
#include "loci/kernels/machine/avx512_bf16.h"
#include "loci/kernels/machine/kernel_table.h"
#include "loci/kernels/machine/peak_loops.h"

namespace loci::kernels {

namespace {

struct PeakPairs : Avx512Bf16 {
  using Sum = float;
  using Sums = Avx512Bf16::Floats;
  using Factors = Avx512Bf16::Pairs;
};

}  // namespace

void add_avx512_bf16_kernels(KernelTable& table) {
  using Products = attention_kernels::VectorProducts<Avx512Bf16>;
  table.attention.bf16 = {attention_kernels::PairLoops<Avx512Bf16, Products>::attend,
                          attention_kernels::PanelLayout::kPairs};
  table.attention_backward.bf16 = attention_backward_kernels::PairBackward<Avx512Bf16>::run;
  table.peak.bf16 = peak_kernels::dot_products<PeakPairs, 24, 2>;
}

}  // namespace loci::kernels
