// SPDX-License-Identifier: Apache-2.0
// Detects NaN and infinite values. A NaN in a memory would spread to every later frame, so the
// result of every chunk and training step is checked.
#pragma once

#include <ATen/core/Tensor.h>

namespace loci::sample {

// Whether no element is NaN or infinite. True for undefined and integer tensors. Reads the elements
// once and allocates nothing.
bool all_finite(const at::Tensor& tensor);

}  // namespace loci::sample
