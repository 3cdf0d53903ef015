// SPDX-License-Identifier: Apache-2.0
// Looking for numbers that are none. A NaN that enters a memory stays there and spreads to every
// later frame: it is looked for wherever a chunk or a step ends.
#pragma once

#include <ATen/core/Tensor.h>

namespace loci::sample {

// Whether no element is NaN or infinite; true for undefined tensors and whole numbers. One pass
// over the elements, without memory of its own.
bool all_finite(const at::Tensor& tensor);

}  // namespace loci::sample
