// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/attention/attention_loops.h"

namespace loci::kernels::attention_kernels {
void attend_plain(const Work& work) { Loops<4, 2, 4>::attend(work); }
void pack_plain(const PackWork& work) { pack<4>(work); }
}  // namespace loci::kernels::attention_kernels
