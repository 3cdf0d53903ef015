// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/attention/attention_backward_loops.h"

namespace loci::kernels::attention_backward_kernels {
void backward_plain(const Work& work) { Backward<4, 2, 4>::run(work); }
}  // namespace loci::kernels::attention_backward_kernels
