// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/elementwise/gelu_loops.h"

namespace loci::kernels::gelu_kernels {
Kernels plain() { return Loops<4>::kKernels; }
}  // namespace loci::kernels::gelu_kernels
