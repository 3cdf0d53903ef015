// SPDX-License-Identifier: Apache-2.0
// Softmax attention of a pass: over the spans of a window, or over a stored past and the chunk.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/kernels/attention/attention.h"
#include "loci/kernels/attention/attention_spans.h"

namespace loci::model {

// query, key, value [B, N, H, 128] of all frames of the input → [B, N, H, 128]. `spans` is one of
// PassPlan's; if it is null, the single chunk attends to `past` (may be null) and itself.
inline at::Tensor window_attention(const at::Tensor& query, const at::Tensor& key,
                                   const at::Tensor& value, const kernels::SharedSpans& spans,
                                   const kernels::AttentionPast* past) {
  if (spans == nullptr) return kernels::attention(query, key, value, past);
  return kernels::attention_over_spans(query, key, value, spans);
}

}  // namespace loci::model
