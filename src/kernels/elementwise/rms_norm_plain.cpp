// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/elementwise/rms_norm_loops.h"

namespace loci::kernels::rms_norm_kernels {
Kernels plain() { return Loops<4>::kKernels; }
}  // namespace loci::kernels::rms_norm_kernels
