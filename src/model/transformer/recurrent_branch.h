// SPDX-License-Identifier: Apache-2.0
// The recurrent branch of a hybrid block: features for its memory, the gated readout, the write.
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/memory/recurrent/recurrent_memory.h"
#include "loci/model/transformer/config.h"
#include "loci/model/transformer/forward_context.h"
#include "loci/model/transformer/layers.h"

namespace loci::model {

class RecurrentBranch {
 public:
  RecurrentBranch(const Scope& scope, const TransformerConfig& config,
                  std::shared_ptr<const memory::RecurrentMemory> memory);

  // h [B, N, width]: the block's modulated input. query, key (normed, not rotated) and value
  // [B, N, H, 128]. Returns `local` [B, N, H, 128] plus the gated readout, unless that is switched
  // off, and advances `state` over the chunks (when the context asks for it, over the last one
  // too).
  at::Tensor operator()(const at::Tensor& h, const at::Tensor& query, const at::Tensor& key,
                        const at::Tensor& value, const at::Tensor& local, int64_t layer,
                        const ForwardContext& context, at::Tensor& state) const;

  // Log retention of the first `written` chunks, [B, n, H, 128] with n by the memory's grain.
  // `ends` are those of all chunks, in tokens of h.
  at::Tensor log_retention(const at::Tensor& h, const std::vector<int64_t>& ends, int64_t written,
                           int64_t tokens_per_frame) const;

 private:
  std::shared_ptr<const memory::RecurrentMemory> memory_;
  int64_t heads_;
  double min_log_retention_;
  Linear retention_, beta_, gate_;
  at::Tensor phi_query_, phi_key_, phi_value_;  // [H*128, 128, 1]
  at::Tensor a_log_;                            // [H]
  at::Tensor dt_bias_;                          // [H*64]
};

}  // namespace loci::model
