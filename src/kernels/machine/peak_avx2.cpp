// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/machine/peak_loops.h"

namespace loci::kernels::peak_kernels {
double avx2(int64_t rounds, float* sink) {
  using Floats = float __attribute__((vector_size(32)));
  return multiply_add<Floats, 12>(rounds, sink);
}
}  // namespace loci::kernels::peak_kernels
