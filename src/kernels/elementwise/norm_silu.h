// SPDX-License-Identifier: Apache-2.0
// Norm and activation of the autoencoder in one pass over memory: the channel vector of each pixel
// is scaled to length sqrt(C) and multiplied by gamma, then SiLU is applied. These are all
// operations between two convolutions. libtorch needs six passes for them.
#pragma once

#include <ATen/core/Tensor.h>

namespace loci::kernels {

// x [..., C] contiguous, FP32 or BF16; gamma [C]. If no other tensor shares the memory of x and no
// gradient needs it, the result overwrites x. Differentiable.
at::Tensor norm_silu(at::Tensor x, const at::Tensor& gamma);

// The same with libtorch's operators: the fallback for other types and devices, and the reference
// of the tests.
at::Tensor norm_silu_by_libtorch(const at::Tensor& x, const at::Tensor& gamma);

}  // namespace loci::kernels
