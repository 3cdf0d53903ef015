// SPDX-License-Identifier: Apache-2.0
#include "loci/model/vae_norm_loops.h"

namespace loci::model::norm_kernels {
Kernels plain() { return kKernels; }
}  // namespace loci::model::norm_kernels
