// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/elementwise/norm_silu_loops.h"

namespace loci::kernels::norm_silu_kernels {
Kernels plain() { return Loops<4>::kKernels; }
}  // namespace loci::kernels::norm_silu_kernels
