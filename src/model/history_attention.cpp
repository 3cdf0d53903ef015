// SPDX-License-Identifier: Apache-2.0
#include "loci/model/history_attention.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::model {

namespace {

// Tokens of the given frames, side by side: [B, N, H, D] → [B, frames*T, H, D].
at::Tensor take_frames(const at::Tensor& x, const std::vector<int64_t>& frames, int64_t tokens) {
  const at::Tensor index = at::tensor(frames, x.options().dtype(at::kLong));
  return x.unflatten(1, {-1, tokens}).index_select(1, index).flatten(1, 2);
}

}  // namespace

at::Tensor history_attention(const at::Tensor& query, const at::Tensor& key,
                             const at::Tensor& value, const ForwardContext& context,
                             const kernels::AttentionPast* past, bool turn_keys, bool local) {
  const int64_t tokens = context.maps->grid.tokens();
  LOCI_CHECK(past == nullptr || context.chunks.size() == 1,
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
    outputs.push_back(
        kernels::attention(query.narrow(1, begin, size), k, v, local ? nullptr : past));
  }
  return outputs.size() == 1 ? outputs.front() : at::cat(outputs, 1);
}

}  // namespace loci::model
