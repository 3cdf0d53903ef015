// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/attention/attention_pair_loops.h"
#include "loci/kernels/machine/machine_amx.h"

namespace loci::kernels::attention_kernels {
void attend_amx(const Work& work) { PairLoops<Amx, TileProducts<Amx>>::attend(work); }
}  // namespace loci::kernels::attention_kernels
