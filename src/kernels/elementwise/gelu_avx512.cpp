// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/elementwise/gelu_loops.h"

namespace loci::kernels::gelu_kernels {
Kernels avx512() { return Loops<16>::kKernels; }
}  // namespace loci::kernels::gelu_kernels
