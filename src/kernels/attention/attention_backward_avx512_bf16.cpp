// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/attention/attention_backward_pair_loops.h"
#include "loci/kernels/machine/machine_avx512_bf16.h"

namespace loci::kernels::attention_backward_kernels {
void backward_avx512_bf16(const Work& work) { PairBackward<Avx512Bf16>::run(work); }
}  // namespace loci::kernels::attention_backward_kernels
