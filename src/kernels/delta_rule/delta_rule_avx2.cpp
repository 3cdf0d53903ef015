// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/delta_rule/delta_rule_loops.h"

namespace loci::kernels::delta_rule_kernels {
void forward_avx2(const Work& work) { DeltaRule<8, 2, 6>{work}.forward(); }
void backward_avx2(const Work& work, const Gradients& gradients) {
  DeltaRule<8, 2, 6>{work}.backward(gradients);
}
}  // namespace loci::kernels::delta_rule_kernels
