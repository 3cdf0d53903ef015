// SPDX-License-Identifier: Apache-2.0
// The recurrent branch of a hybrid block: features for its memory, gated readout and write.
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/memory/recurrent/recurrent_memory.h"
#include "loci/model/transformer/config.h"
#include "loci/model/transformer/layers.h"
#include "loci/model/transformer/pass_plan.h"

namespace loci::model {

class RecurrentBranch {
 public:
  // `block` counts the hybrid blocks.
  RecurrentBranch(const Scope& scope, const TransformerConfig& config, int64_t block,
                  std::shared_ptr<const memory::RecurrentMemory> memory);

  // h [B, N, width]: the block's modulated input. query, key (normed, not rotated) and value
  // [B, N, H, 128] of the attention heads. Returns `local` [B, N, H, 128] plus the gated readout
  // (unless the readout is off) and replaces `state` by the state after the last written chunk.
  at::Tensor operator()(const at::Tensor& h, const at::Tensor& query, const at::Tensor& key,
                        const at::Tensor& value, const at::Tensor& local, int64_t layer,
                        const PassPlan& plan, const Observers& observers, at::Tensor& state) const;

 private:
  // Log retention of the plan's retention chunks, [B, n, H, 128] with n by the memory's grain.
  at::Tensor log_retention(const at::Tensor& h, const PassPlan& plan) const;

  std::shared_ptr<const memory::RecurrentMemory> memory_;
  int64_t block_;
  int64_t heads_;  // of the recurrent branch
  double min_log_retention_;
  double beta_offset_;  // logit of β / 2 for h = 0
  Linear retention_, beta_, gate_;
  at::Tensor phi_query_, phi_key_, phi_value_;  // [H*128, 128, 1]
  at::Tensor a_log_;                            // [H]
  at::Tensor dt_bias_;                          // [H*64]
};

}  // namespace loci::model
