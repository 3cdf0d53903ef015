// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/attention/attention_loops.h"

namespace loci::kernels::attention_kernels {
void attend_avx2(const Work& work) { Loops<8, 2, 6>::attend(work); }
void pack_avx2(const PackWork& work) { pack<8>(work); }
}  // namespace loci::kernels::attention_kernels
