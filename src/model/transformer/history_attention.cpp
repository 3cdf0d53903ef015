// SPDX-License-Identifier: Apache-2.0
#include "loci/model/transformer/history_attention.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/kernels/attention/attention_spans.h"

namespace loci::model {

namespace {

// What the chunks of a window see, by token: earlier frames, then the chunk itself.
std::vector<kernels::AttentionSpan> window_spans(const ForwardContext& context, bool turn_keys,
                                                 bool local) {
  const int64_t tokens = context.maps->grid.tokens();
  std::vector<kernels::AttentionSpan> spans;
  for (const ChunkSpan& chunk : context.chunks) {
    kernels::AttentionSpan span{.begin = chunk.begin * tokens, .end = chunk.end * tokens};
    if (!local) {
      for (const int64_t frame : chunk.earlier) {
        for (int64_t i = 0; i < tokens; ++i) span.keys.push_back(frame * tokens + i);
      }
      if (turn_keys && chunk.turned && !chunk.earlier.empty()) span.turn = chunk.turn;
    }
    for (int64_t token = span.begin; token < span.end; ++token) span.keys.push_back(token);
    spans.push_back(std::move(span));
  }
  return spans;
}

}  // namespace

at::Tensor history_attention(const at::Tensor& query, const at::Tensor& key,
                             const at::Tensor& value, const ForwardContext& context,
                             const kernels::AttentionPast* past, bool turn_keys, bool local) {
  LOCI_CHECK(past == nullptr || context.chunks.size() == 1,
             "a stored past belongs to a single chunk, the input has {}", context.chunks.size());
  if (context.chunks.size() == 1) {
    return kernels::attention(query, key, value, local ? nullptr : past);
  }
  return kernels::attention_over_spans(query, key, value, window_spans(context, turn_keys, local));
}

}  // namespace loci::model
