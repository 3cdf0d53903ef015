// SPDX-License-Identifier: Apache-2.0
// Linear maps whose weights are kept in BF16 where the processor multiplies FP32 only. libtorch
// then takes BF16 operands one by one, at a fraction of its FP32 rate; here weights are widened a
// few rows at a time, so that nothing but a small buffer is ever held in FP32.
#pragma once

#include <ATen/core/Tensor.h>

namespace loci::kernels {

// Whether products of these two types had better be computed in FP32: a BF16 weight on a CPU with
// FP32 rows, or with BF16 rows where no instruction of the level in use multiplies BF16.
bool widening_pays(const at::Tensor& x, const at::Tensor& weight);

// x [..., in] FP32 or BF16, weight [out, in] BF16, bias [out] of any floating type or undefined →
// [..., out] in x's type: sums and bias in FP32, rounded once. CPU; no gradient.
at::Tensor wide_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

// x weightᵀ + bias for every type and device, with gradients: the weight is converted to x's type,
// or widened as above where that pays and no gradient is asked for.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

// The same by libtorch alone: what linear() falls back on.
at::Tensor linear_by_libtorch(const at::Tensor& x, const at::Tensor& weight,
                              const at::Tensor& bias);

}  // namespace loci::kernels
