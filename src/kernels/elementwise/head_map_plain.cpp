// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/elementwise/head_map_loops.h"

namespace loci::kernels::head_map_kernels {
void plain(const Work& work) { run(work); }
}  // namespace loci::kernels::head_map_kernels
