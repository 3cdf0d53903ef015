// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/machine/machine_amx.h"
#include "loci/kernels/linear/packed_linear_loops.h"
#include "loci/kernels/linear/packed_linear_tiles.h"

namespace loci::kernels::packed_linear_kernels {

Kernels amx() { return kernels_of<FloatLoops<16, 2, 12>, TileLoops<Amx>>(); }

}  // namespace loci::kernels::packed_linear_kernels
