// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/attention/attention_backward_loops.h"

namespace loci::kernels::attention_backward_kernels {
void backward_avx512(const Work& work) { Backward<16, 2, 12>::run(work); }
}  // namespace loci::kernels::attention_backward_kernels
