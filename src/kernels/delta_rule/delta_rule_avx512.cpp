// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/delta_rule/delta_rule_loops.h"

namespace loci::kernels::delta_rule_kernels {
void forward_avx512(const Work& work) { DeltaRule<16, 2, 12>{work}.forward(); }
void backward_avx512(const Work& work, const Gradients& gradients) {
  DeltaRule<16, 2, 12>{work}.backward(gradients);
}
}  // namespace loci::kernels::delta_rule_kernels
