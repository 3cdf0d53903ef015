// SPDX-License-Identifier: Apache-2.0
// One transformer block: self-attention (over the history, or within the chunk plus a recurrent
// memory), camera branch, text cross-attention and feed-forward, modulated by each frame's
// timestep.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

#include "loci/kernels/elementwise/rms_norm.h"
#include "loci/model/transformer/camera_branch.h"
#include "loci/model/transformer/config.h"
#include "loci/model/transformer/layers.h"
#include "loci/model/transformer/pass_plan.h"
#include "loci/model/transformer/recurrent_branch.h"

namespace loci::model {

// Query, key, value and output projections, with RMS norm over all heads of queries and of keys.
struct AttentionProjections {
  Linear query, key, value, out;
  RmsNorm query_norm, key_norm;
  int64_t heads = 0;

  AttentionProjections(const Scope& scope, const TransformerConfig& config);

  // [B, N, width] → [B, N, H, 128]
  at::Tensor queries(const at::Tensor& x) const;
  at::Tensor keys(const at::Tensor& x) const;
  at::Tensor values(const at::Tensor& x) const;
  // Rotated by the map; with `both` also unrotated.
  kernels::NormedHeads queries(const at::Tensor& x, const kernels::HeadMap& map, bool both) const;
  kernels::NormedHeads keys(const at::Tensor& x, const kernels::HeadMap& map, bool both) const;

  void visit_large(const std::function<void(Linear&)>& visit);
};

class Block {
 public:
  // `memory` is null for a softmax block.
  Block(const Scope& scope, const TransformerConfig& config, int64_t layer,
        std::shared_ptr<const memory::RecurrentMemory> memory);

  // x [B, N, width], FP32: the residual stream. modulation [B, F, 6, width], FP32: computed from
  // the timesteps. A hybrid block replaces `state` by the state after the last written chunk.
  at::Tensor operator()(const at::Tensor& x, const at::Tensor& modulation, const PassPlan& plan,
                        const Observers& observers, const TextKeys::Entry& text,
                        at::Tensor& state) const;

  // Keys and values of tokens x [B, n, width] that no block updates. modulation [B, 1, 6, width].
  FixedKeys::Entry fixed_keys(const at::Tensor& x, const at::Tensor& modulation,
                              const kernels::HeadMap& key_map, const kernels::HeadMap& value_map,
                              at::ScalarType compute) const;

  // Keys and values of the text [B, L, width] for this block.
  TextKeys::Entry text_keys(const at::Tensor& text) const;

  // Visits the linear layers that may be quantized.
  void visit_large(const std::function<void(Linear&)>& visit);

 private:
  // With the camera branch.
  at::Tensor self_attention(const at::Tensor& h, const PassPlan& plan, const Observers& observers,
                            at::Tensor& state) const;
  // The values [B, N, H, 128] as the store keeps them.
  at::Tensor stored_values(const at::Tensor& value, const PassPlan& plan) const;
  at::Tensor cross_attention(const at::Tensor& x, const TextKeys::Entry& text) const;

  int64_t layer_;
  double eps_;
  bool raw_keys_;             // whether the store receives keys before their map
  double first_value_scale_;  // of the stored values of frame 0
  AttentionProjections self_, cross_;
  std::optional<CameraBranch> camera_;
  std::optional<ProjectionBranch> projection_;
  std::optional<RecurrentBranch> recurrent_;
  LayerNorm cross_norm_;
  Linear ffn_in_, ffn_out_;
  at::Tensor table_;  // [1, 6, width]: shift, scale, gate of attention, then of the feed-forward
};

}  // namespace loci::model
