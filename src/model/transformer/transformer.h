// SPDX-License-Identifier: Apache-2.0
// The LOCI diffusion transformer: blocks of Wan2.2, each with a camera branch, half of them with a
// recurrent memory. Training windows and streamed chunks use the same forward pass.
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/model/transformer/block.h"
#include "loci/model/transformer/config.h"
#include "loci/model/transformer/forward_context.h"
#include "loci/model/weights/parameters.h"

namespace loci::model {

class Transformer {
 public:
  // Takes its parameters from `parameters` (source or initialisers) and keeps the object.
  Transformer(TransformerConfig config, std::shared_ptr<Parameters> parameters);

  const TransformerConfig& config() const { return config_; }
  const Parameters& parameters() const { return *parameters_; }

  // Text embeddings [B, l, text_dim], l <= text_len → keys and values of every layer. Shorter texts
  // are padded with zeros and attended to unmasked.
  TextKeys text_keys(const at::Tensor& embeddings) const;

  // Keys and values of clean frames that no block updates: those of the tokens `index` (integers)
  // of latents [B, channels, F, h, w], with the maps of these frames. For models whose attention
  // maps by projections.
  FixedKeys fixed_keys(const at::Tensor& latents, const TokenMaps& maps,
                       const at::Tensor& index) const;

  // latents [B, channels, F, h, w], timesteps [B, F] in [0, 1000] → velocity, the same shape as
  // latents, FP32. The states in context.memory are replaced. Products run in the type of the
  // parameters unless set_compute_type() says otherwise.
  at::Tensor forward(const at::Tensor& latents, const at::Tensor& timesteps,
                     ForwardContext& context) const;

  // The type of products (not of norms and sums), by default the type of the parameters.
  void set_compute_type(at::ScalarType type) { compute_ = type; }
  at::ScalarType compute_type() const { return compute_; }
  // The device of the parameters. Latents, timesteps and the visible maps must be on the same
  // device; text embeddings are moved there.
  at::Device device() const { return patch_weight_.device(); }

  // Visits the linear layers that may be quantized, block by block.
  void visit_large(const std::function<void(Linear&)>& visit);
  // For inference in BF16 on processors without BF16 instructions, where libtorch is slow: large
  // layers use packed weights and own loops from now on. Does nothing elsewhere.
  void pack();

  // The layout of a key-value store for this model.
  memory::KvLayout kv_layout(int64_t batch, const camera::TokenGrid& grid) const;

 private:
  at::Tensor patchify(const at::Tensor& latents) const;
  at::Tensor unpatchify(const at::Tensor& tokens, int64_t frames,
                        const camera::TokenGrid& grid) const;
  // [B, F] → [B, F, width], FP32, with the embedding of the target timesteps if there is one.
  at::Tensor time_embedding(const at::Tensor& timesteps, const Conditions& conditions) const;
  // The modulation [B, F, 6 * width] that the actions add.
  at::Tensor action_modulation(const Conditions& conditions) const;

  TransformerConfig config_;
  std::shared_ptr<Parameters> parameters_;
  at::ScalarType compute_;
  std::shared_ptr<const memory::RecurrentMemory> memory_;  // of the hybrid blocks; null: none
  at::Tensor patch_weight_, patch_bias_;
  Linear time_in_, time_out_, time_proj_, text_in_, text_out_;
  Linear target_in_, target_out_;                    // with target_time_gate
  Linear action_in_, action_out_, action_modulate_;  // with action_dim
  at::Tensor embodiments_;                           // [embodiments, width], or undefined
  std::vector<Block> blocks_;
  at::Tensor head_table_;  // [1, 2, width]
  Linear head_;
};

}  // namespace loci::model
