// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/linear/packed_linear_loops.h"

namespace loci::kernels::packed_linear_kernels {

Kernels plain() { return kernels_of<FloatLoops<4, 2, 4>, ByteLoops<PlainWords<4>, 2, 4>>(); }

}  // namespace loci::kernels::packed_linear_kernels
