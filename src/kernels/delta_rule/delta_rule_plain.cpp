// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/delta_rule/delta_rule_loops.h"

namespace loci::kernels::delta_rule_kernels {
void forward_plain(const Work& work) { DeltaRule<4, 2, 4>{work}.forward(); }
void backward_plain(const Work& work, const Gradients& gradients) {
  DeltaRule<4, 2, 4>{work}.backward(gradients);
}
}  // namespace loci::kernels::delta_rule_kernels
