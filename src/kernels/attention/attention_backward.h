// SPDX-License-Identifier: Apache-2.0
// The gradient of attention.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/kernels/attention/attention_spans.h"

namespace loci::kernels {

struct AttentionGradients {
  at::Tensor query, key, value;
};

// Takes the inputs and outputs of the forward pass and the gradient of `out`: query and out
// [B, N, H, D], key and value [B, M, H, D], all contiguous on the CPU in FP32 or BF16, log_sum
// [B, H, N] in FP32. D is a multiple of 32. Computes in FP32, or for BF16 inputs with products of
// BF16 pairs if the processor has instructions for them. Sums have a fixed order. The gradients
// have the types of the inputs.
AttentionGradients attention_backward(const at::Tensor& grad_out, const at::Tensor& query,
                                      const at::Tensor& key, const at::Tensor& value,
                                      const at::Tensor& out, const at::Tensor& log_sum,
                                      const std::vector<AttentionSpan>& spans);

}  // namespace loci::kernels
