// SPDX-License-Identifier: Apache-2.0
// One block: self-attention (over history, or over the chunk beside a recurrent memory), camera
// branch, text cross-attention and feed-forward, modulated by each frame's timestep.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

#include "loci/kernels/elementwise/rms_norm.h"
#include "loci/model/transformer/camera_branch.h"
#include "loci/model/transformer/config.h"
#include "loci/model/transformer/forward_context.h"
#include "loci/model/transformer/layers.h"
#include "loci/model/transformer/recurrent_branch.h"

namespace loci::model {

// Query, key, value and output projections with RMS norm over all heads of queries and keys.
struct AttentionProjections {
  Linear query, key, value, out;
  RmsNorm query_norm, key_norm;
  int64_t heads = 0;

  AttentionProjections(const Scope& scope, const TransformerConfig& config);

  // [B, N, width] → [B, N, H, 128]
  at::Tensor queries(const at::Tensor& x) const;
  at::Tensor keys(const at::Tensor& x) const;
  at::Tensor values(const at::Tensor& x) const;
  // Turned by the map, and where wanted as they were before.
  kernels::NormedHeads queries(const at::Tensor& x, const kernels::HeadMap& map, bool both) const;
  kernels::NormedHeads keys(const at::Tensor& x, const kernels::HeadMap& map, bool both) const;

  void visit_large(const std::function<void(Linear&)>& visit);
};

class Block {
 public:
  // `memory` is null for a softmax block.
  Block(const Scope& scope, const TransformerConfig& config, int64_t layer,
        std::shared_ptr<const memory::RecurrentMemory> memory);

  // x [B, N, width]: the residual stream, FP32. modulation [B, F, 6, width], FP32: the timestep's
  // part. Products are computed in `compute`. `state` is advanced in a hybrid block.
  at::Tensor operator()(const at::Tensor& x, const at::Tensor& modulation, at::ScalarType compute,
                        const ForwardContext& context, const TextKeys::Entry& text,
                        at::Tensor& state) const;

  // Keys and values of the text, [B, L, width] → entry for this block.
  TextKeys::Entry text_keys(const at::Tensor& text) const;

  // The linear layers that may be kept in fewer bits.
  void visit_large(const std::function<void(Linear&)>& visit);

 private:
  at::Tensor self_attention(const at::Tensor& h, const ForwardContext& context,
                            at::Tensor& state) const;
  at::Tensor cross_attention(const at::Tensor& x, const TextKeys::Entry& text) const;

  int64_t layer_;
  double eps_;
  AttentionProjections self_, cross_;
  CameraBranch camera_;
  std::optional<RecurrentBranch> recurrent_;
  LayerNorm cross_norm_;
  Linear ffn_in_, ffn_out_;
  at::Tensor table_;  // [1, 6, width]: shift, scale, gate of attention, then of the feed-forward
};

}  // namespace loci::model
