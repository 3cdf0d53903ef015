// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/elementwise/norm_silu_loops.h"

namespace loci::kernels::norm_silu_kernels {
Kernels avx2() { return Loops<8>::kKernels; }
}  // namespace loci::kernels::norm_silu_kernels
