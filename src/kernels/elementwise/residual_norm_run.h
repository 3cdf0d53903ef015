// SPDX-License-Identifier: Apache-2.0
// Runs the loops of residual_norm.h in parallel. Each task has rows of one group (frame).
#pragma once

#include <utility>

#include <ATen/core/Tensor.h>

namespace loci::kernels {

// All forms of the operation. Tensors that a form does not use are undefined.
struct ResidualNorm {
  at::Tensor x, y;                // [B, N, width] contiguous; x in FP32, y in `dtype`
  at::Tensor gate, scale, shift;  // FP32, [B, F, 1, width] or [width]
  double base = 0, eps = 0;
  at::ScalarType dtype = at::kFloat;  // type of y and the norm: FP32 or BF16
  bool normed = false;

  // Returns the sum (undefined without y) and the norm (undefined unless `normed`).
  std::pair<at::Tensor, at::Tensor> forward() const;

  // Writes the gradients of x and y into grad_x and grad_y if these are defined. The member x must
  // be the sum. Returns the gradients of gate, scale and shift per task, [groups, tasks, 3, width].
  at::Tensor backward(const at::Tensor& grad_sum, const at::Tensor& grad_norm,
                      const at::Tensor& grad_x, const at::Tensor& grad_y) const;
};

// The gradient of gate, scale or shift (kind 0, 1 or 2) in the shape of the tensor `like`: the sum
// over the tasks of a group, or over all tasks for a vector that all groups share.
at::Tensor vector_gradient(const at::Tensor& sums, int64_t kind, const at::Tensor& like);

}  // namespace loci::kernels
