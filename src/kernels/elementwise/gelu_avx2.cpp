// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/elementwise/gelu_loops.h"

namespace loci::kernels::gelu_kernels {
Kernels avx2() { return Loops<8>::kKernels; }
}  // namespace loci::kernels::gelu_kernels
