// SPDX-License-Identifier: Apache-2.0
#include "loci/model/history_attention.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::model {

namespace {

// Tokens of the given frames, side by side: [B, N, H, D] → [B, frames*T, H, D].
at::Tensor take_frames(const at::Tensor& x, const std::vector<int64_t>& frames, int64_t tokens) {
  const at::Tensor index = at::tensor(frames, at::kLong);
  return x.unflatten(1, {-1, tokens}).index_select(1, index).flatten(1, 2);
}

// The first `tokens` of `past` and then x. `past` has room for x, or is followed by it in a copy.
at::Tensor behind(const at::Tensor& past, int64_t tokens, const at::Tensor& x) {
  if (past.size(1) < tokens + x.size(1)) return at::cat({past.narrow(1, 0, tokens), x}, 1);
  past.narrow(1, tokens, x.size(1)).copy_(x);
  return past.narrow(1, 0, tokens + x.size(1));
}

}  // namespace

at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
  return at::scaled_dot_product_attention(query.transpose(1, 2), key.transpose(1, 2),
                                          value.transpose(1, 2))
      .transpose(1, 2);
}

at::Tensor history_attention(const at::Tensor& query, const at::Tensor& key,
                             const at::Tensor& value, const ForwardContext& context,
                             const PastKeys::Entry& past, bool turn_keys, bool local) {
  const int64_t tokens = context.maps->grid.tokens();
  LOCI_CHECK(!past.key.defined() || context.chunks.size() == 1,
             "a stored past belongs to a single chunk, the input has {}", context.chunks.size());
  std::vector<at::Tensor> outputs;
  for (const ChunkSpan& chunk : context.chunks) {
    const int64_t begin = chunk.begin * tokens;
    const int64_t size = (chunk.end - chunk.begin) * tokens;
    at::Tensor k = key.narrow(1, begin, size);
    at::Tensor v = value.narrow(1, begin, size);
    if (!local && !chunk.earlier.empty()) {
      if (chunk.sees_prefix() && !(turn_keys && chunk.turned)) {
        k = key.narrow(1, 0, begin + size);
        v = value.narrow(1, 0, begin + size);
      } else {
        at::Tensor earlier = take_frames(key, chunk.earlier, tokens);
        if (turn_keys && chunk.turned) earlier = kernels::head_map(earlier, chunk.turn);
        k = at::cat({earlier, k}, 1);
        v = at::cat({take_frames(value, chunk.earlier, tokens), v}, 1);
      }
    }
    if (!local && past.key.defined()) {
      k = behind(past.key, past.tokens, k);
      v = behind(past.value, past.tokens, v);
    }
    outputs.push_back(attention(query.narrow(1, begin, size), k, v));
  }
  return outputs.size() == 1 ? outputs.front() : at::cat(outputs, 1);
}

}  // namespace loci::model
