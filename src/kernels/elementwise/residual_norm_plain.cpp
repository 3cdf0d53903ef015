// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/elementwise/residual_norm_loops.h"

namespace loci::kernels::residual_norm_kernels {
Kernels plain() { return Loops<4>::kKernels; }
}  // namespace loci::kernels::residual_norm_kernels
