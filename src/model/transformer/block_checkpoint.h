// SPDX-License-Identifier: Apache-2.0
// Activation checkpointing: a block whose activations are not kept but computed again in the
// backward pass, which trades a third more work for memory that grows with one block, not with all.
#pragma once

#include "loci/model/transformer/block.h"

namespace loci::model {

// Equals block(x, …) in value and gradient. The context's maps and the block must outlive the
// backward pass; the state is advanced but carries no gradient (a window starts from zero).
at::Tensor checkpointed_block(const Block& block, const at::Tensor& x, const at::Tensor& modulation,
                              at::ScalarType compute, const ForwardContext& context,
                              const TextKeys::Entry& text, at::Tensor& state);

}  // namespace loci::model
