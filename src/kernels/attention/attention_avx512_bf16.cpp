// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/attention/attention_pair_loops.h"
#include "loci/kernels/machine/machine_avx512_bf16.h"

namespace loci::kernels::attention_kernels {
void attend_avx512_bf16(const Work& work) {
  PairLoops<Avx512Bf16, VectorProducts<Avx512Bf16>>::attend(work);
}
}  // namespace loci::kernels::attention_kernels
