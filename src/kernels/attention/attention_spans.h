// SPDX-License-Identifier: Apache-2.0
// Attention within one sequence where runs of queries see different keys: a training window, whose
// chunks see what a stream would have kept of their past. One call, and one node of the gradient,
// for all of them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/kernels/elementwise/head_map.h"

namespace loci::kernels {

// Queries [begin, end) and the tokens whose keys and values they see, in any order.
struct AttentionSpan {
  int64_t begin = 0;
  int64_t end = 0;
  std::vector<int64_t> keys;
  // Rotates the first keys, as many as its tables [n, pairs] have rows, before they are used.
  std::optional<HeadMap> turn;

  int64_t turned() const { return turn ? turn->cosine.size(-2) : 0; }
};

// Spans of a sequence, shared by all calls that use them.
using SharedSpans = std::shared_ptr<const std::vector<AttentionSpan>>;

// query [B, N, H, D], key and value [B, M, H, D] → [B, N, H, D]. The spans divide the N queries
// among themselves in order. Scores are scaled by D^-1/2. Differentiable in query, key and value.
at::Tensor attention_over_spans(const at::Tensor& query, const at::Tensor& key,
                                const at::Tensor& value, const SharedSpans& spans);

// The same by libtorch alone, a call for each span: what attention_over_spans() falls back on, and
// what tests hold it to.
at::Tensor attention_over_spans_by_libtorch(const at::Tensor& query, const at::Tensor& key,
                                            const at::Tensor& value,
                                            const std::vector<AttentionSpan>& spans);

}  // namespace loci::kernels
