// SPDX-License-Identifier: Apache-2.0
// Linear maps with BF16 weights on processors without BF16 instructions. There, libtorch's BF16
// products run at a fraction of its FP32 rate. These functions convert a few rows of the weight to
// FP32 at a time, so that only a small buffer is held in FP32.
#pragma once

#include <ATen/core/Tensor.h>

namespace loci::kernels {

// Whether wide_linear() is faster than libtorch for this input: a BF16 weight on the CPU, and x in
// FP32, or in BF16 if the level in use has no BF16 instructions.
bool widening_pays(const at::Tensor& x, const at::Tensor& weight);

// x [..., in] FP32 or BF16, weight [out, in] BF16, bias [out] of any floating-point type or
// undefined → [..., out] in the type of x. Sums and bias are FP32 and rounded once. CPU only, no
// gradient.
at::Tensor wide_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

// x weightᵀ + bias for every type and device, differentiable. Uses wide_linear() if widening_pays()
// and no gradient is needed; otherwise converts the weight to the type of x.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

// The same with libtorch's operators: the fallback of linear().
at::Tensor linear_by_libtorch(const at::Tensor& x, const at::Tensor& weight,
                              const at::Tensor& bias);

}  // namespace loci::kernels
