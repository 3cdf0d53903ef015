// SPDX-License-Identifier: Apache-2.0
// Activation checkpointing: the backward pass recomputes a block's activations instead of keeping
// them. This costs a third more work and limits the memory for activations to one block.
#pragma once

#include <memory>

#include "loci/model/transformer/block.h"

namespace loci::model {

// Equals block(x, …) in value and gradient. The block and the plan's maps must outlive the backward
// pass. `state` must be undefined (a window starts from the zero state) and receives a state
// without gradient. Observers are called in the forward pass only.
at::Tensor checkpointed_block(const Block& block, const at::Tensor& x, const at::Tensor& modulation,
                              const std::shared_ptr<const PassPlan>& plan,
                              const Observers& observers, const TextKeys::Entry& text,
                              at::Tensor& state);

}  // namespace loci::model
