// SPDX-License-Identifier: Apache-2.0
// The gradient of attention by loops of its own.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/kernels/attention/attention_spans.h"

namespace loci::kernels {

struct AttentionGradients {
  at::Tensor query, key, value;
};

// From what the forward pass had and gave: query and out [B, N, H, D], key and value [B, M, H, D],
// all contiguous and FP32 or BF16, log_sum [B, H, N] FP32, and the gradient of out. Computed in
// FP32, or for BF16 inputs by products of BF16 pairs where the processor has them, summed in a
// fixed order, and given in the types of the inputs. On the CPU, D a multiple
// of 32.
AttentionGradients attention_backward(const at::Tensor& grad_out, const at::Tensor& query,
                                      const at::Tensor& key, const at::Tensor& value,
                                      const at::Tensor& out, const at::Tensor& log_sum,
                                      const std::vector<AttentionSpan>& spans);

}  // namespace loci::kernels
