// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/attention/attention_loops.h"

namespace loci::kernels::attention_kernels {
void attend_avx512(const Work& work) { Loops<16, 2, 12>::attend(work); }
void pack_avx512(const PackWork& work) { pack<8>(work); }
}  // namespace loci::kernels::attention_kernels
