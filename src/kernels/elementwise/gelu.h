// SPDX-License-Identifier: Apache-2.0
// GELU with the tanh approximation, computed with one exponential.
#pragma once

#include <ATen/core/Tensor.h>

namespace loci::kernels {

// Any shape. FP32 and BF16 use the kernel, other types and devices use at::gelu. If no other tensor
// shares the memory of x and no gradient needs it, the result overwrites x. Differentiable.
at::Tensor gelu(at::Tensor x);

}  // namespace loci::kernels
