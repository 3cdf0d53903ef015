// SPDX-License-Identifier: Apache-2.0
// How many directions the keys of a state have. It limits the number of associations that the state
// can separate.
#pragma once

#include <ATen/core/Tensor.h>

namespace loci::memory {

// The sum of k kᵀ over the tokens of keys [B, N, H, D], per head: [H, D, D].
at::Tensor key_moments(const at::Tensor& keys);

// The participation ratio of moments [H, D, D], mean over heads: 1 if all keys are parallel, D if
// they are isotropic.
double key_directions(const at::Tensor& moments);

}  // namespace loci::memory
