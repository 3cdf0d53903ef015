// SPDX-License-Identifier: Apache-2.0
// Kernels for the compiler's default instruction set: vectors of four FP32 numbers.
#include "loci/kernels/elementwise/head_map_loops.h"
#include "loci/kernels/machine/float_kernels.h"
#include "loci/kernels/machine/peak_loops.h"

namespace loci::kernels {

void add_plain_kernels(KernelTable& table) {
  add_float_kernels<4, 4>(table);
  table.head_map = {head_map_kernels::run};
  table.packed_linear.int8 =
      packed_linear_kernels::ByteLoops<packed_linear_kernels::PlainWords<4>, 2, 4>::kKernels;
  table.peak.fp32 = peak_kernels::multiply_add<VectorOf<4>::Floats, 10>;
}

}  // namespace loci::kernels
