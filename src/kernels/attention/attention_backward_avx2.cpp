// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/attention/attention_backward_loops.h"

namespace loci::kernels::attention_backward_kernels {
void backward_avx2(const Work& work) { Backward<8, 2, 6>::run(work); }
}  // namespace loci::kernels::attention_backward_kernels
