// SPDX-License-Identifier: Apache-2.0
// How residual_norm.cpp runs its loops: rows in tasks of one group (a frame) each.
#pragma once

#include <utility>

#include <ATen/core/Tensor.h>

namespace loci::kernels {

// The operation in all its forms; tensors that a form lacks are undefined.
struct ResidualNorm {
  at::Tensor x, y;                // [B, N, width] contiguous; x FP32, y of `dtype`
  at::Tensor gate, scale, shift;  // FP32, [B, F, 1, width] or [width]
  double base = 0, eps = 0;
  at::ScalarType dtype = at::kFloat;  // of y and the norm: FP32 or BF16
  bool normed = false;

  // The sum (undefined without y) and the norm (undefined unless `normed`).
  std::pair<at::Tensor, at::Tensor> forward() const;

  // Writes gradients of x and y where these are defined; x must be the sum here. Gives sums
  // [groups, tasks, 3, width] of the gradients of gate, scale and shift.
  at::Tensor backward(const at::Tensor& grad_sum, const at::Tensor& grad_norm,
                      const at::Tensor& grad_x, const at::Tensor& grad_y) const;
};

// The gradient of gate, scale or shift (kind 0, 1 or 2), shaped as the tensor itself: sums over a
// group's tasks, or over all tasks for a vector that all groups share.
at::Tensor vector_gradient(const at::Tensor& sums, int64_t kind, const at::Tensor& like);

}  // namespace loci::kernels
