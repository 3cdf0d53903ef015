// SPDX-License-Identifier: Apache-2.0
// GELU in its tanh form, with one exponential instead of a hyperbolic tangent.
#pragma once

#include <ATen/core/Tensor.h>

namespace loci::kernels {

// Any shape; FP32 and BF16 by own loops, other types and devices by at::gelu. Takes over x: when
// nothing else holds its memory and no gradient needs it, the result is written there.
// Differentiable.
at::Tensor gelu(at::Tensor x);

}  // namespace loci::kernels
