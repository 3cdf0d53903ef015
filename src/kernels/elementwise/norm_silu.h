// SPDX-License-Identifier: Apache-2.0
// The autoencoder's norm and activation in one pass over memory: every pixel's channel vector is
// scaled to length sqrt(C), times gamma, then SiLU. Between convolutions this is all there is, and
// libtorch needs six passes for it.
#pragma once

#include <ATen/core/Tensor.h>

namespace loci::kernels {

// x [..., C] contiguous, FP32 or BF16; gamma [C]. Takes over x: when nothing else holds its memory
// and no gradient needs it, the result is written there. Differentiable.
at::Tensor norm_silu(at::Tensor x, const at::Tensor& gamma);

// The same in libtorch's operations: for other types and devices, and for tests.
at::Tensor norm_silu_by_libtorch(const at::Tensor& x, const at::Tensor& gamma);

}  // namespace loci::kernels
