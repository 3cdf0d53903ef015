// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/elementwise/norm_silu_loops.h"

namespace loci::kernels::norm_silu_kernels {
Kernels avx512() { return Loops<16>::kKernels; }
}  // namespace loci::kernels::norm_silu_kernels
