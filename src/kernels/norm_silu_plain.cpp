// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/norm_silu_loops.h"

namespace loci::kernels::norm_silu_kernels {
Kernels plain() { return kKernels; }
}  // namespace loci::kernels::norm_silu_kernels
