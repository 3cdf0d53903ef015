// SPDX-License-Identifier: Apache-2.0
// Convolutions of the autoencoder with a faster gradient. libtorch computes the gradient of the
// weight at a third of the speed of the other two products for the few channels of small networks.
#pragma once

#include <ATen/core/Tensor.h>

namespace loci::kernels {

// A 3x3 convolution of stride 1 with one pixel of zero padding. x [N, H, W, in] contiguous, weight
// [out, in, 3, 3], bias [out] or undefined; all of one type. Returns [N, H, W, out], contiguous.
// Differentiable once. The weight gradient of FP32 tensors on the CPU is a kernel of this layer;
// everything else is libtorch's.
at::Tensor conv_3x3(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

// The same with libtorch's operators only: the reference of the tests.
at::Tensor conv_3x3_by_libtorch(const at::Tensor& x, const at::Tensor& weight,
                                const at::Tensor& bias);

}  // namespace loci::kernels
