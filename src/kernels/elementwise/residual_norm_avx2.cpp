// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/elementwise/residual_norm_loops.h"

namespace loci::kernels::residual_norm_kernels {
Kernels avx2() { return Loops<8>::kKernels; }
}  // namespace loci::kernels::residual_norm_kernels
