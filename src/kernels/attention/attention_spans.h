// SPDX-License-Identifier: Apache-2.0
// Attention within one sequence in which spans of queries attend to different keys. Used for
// training windows: each chunk attends to the frames that a stream would retain. All spans are
// computed by one call and form one node of the autograd graph.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/kernels/elementwise/head_map.h"

namespace loci::kernels {

// Queries [begin, end) and the tokens whose keys and values they attend to, in any order.
struct AttentionSpan {
  int64_t begin = 0;
  int64_t end = 0;
  std::vector<int64_t> keys;
  // Rotates the first n keys, where n is the number of rows of its tables [n, pairs].
  std::optional<HeadMap> rotation;

  int64_t rotated_keys() const { return rotation ? rotation->cosine.size(-2) : 0; }
};

// Spans of a sequence, shared by all calls that use them.
using SharedSpans = std::shared_ptr<const std::vector<AttentionSpan>>;

// query [B, N, H, D], key and value [B, M, H, D] → [B, N, H, D]. The spans partition the N queries
// in order. Scores are scaled by D^-1/2. Differentiable in query, key and value.
at::Tensor attention_over_spans(const at::Tensor& query, const at::Tensor& key,
                                const at::Tensor& value, const SharedSpans& spans);

// The same with libtorch's operators, one call per span: the fallback of attention_over_spans() and
// the reference of the tests.
at::Tensor attention_over_spans_by_libtorch(const at::Tensor& query, const at::Tensor& key,
                                            const at::Tensor& value,
                                            const std::vector<AttentionSpan>& spans);

}  // namespace loci::kernels
