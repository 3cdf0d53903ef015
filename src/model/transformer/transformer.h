// SPDX-License-Identifier: Apache-2.0
// The LOCI diffusion transformer: Wan2.2's blocks, half of them with a recurrent memory, all of
// them with a camera branch. One forward serves training windows and streamed chunks.
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
  // Parameters come from `parameters` (its source or its initialisers); it is kept.
  Transformer(TransformerConfig config, std::shared_ptr<Parameters> parameters);

  const TransformerConfig& config() const { return config_; }
  const Parameters& parameters() const { return *parameters_; }

  // Text embeddings [B, l, text_dim], l <= text_len → keys and values of every layer. Shorter texts
  // are padded with zeros and attended to unmasked.
  TextKeys text_keys(const at::Tensor& embeddings) const;

  // latents [B, channels, F, h, w], timesteps [B, F] in [0, 1000] → velocity, the same shape as
  // latents, FP32. The context's states are advanced in place. Products run in the type of the
  // parameters unless set_compute_type() says otherwise.
  at::Tensor forward(const at::Tensor& latents, const at::Tensor& timesteps,
                     ForwardContext& context) const;

  // The type of products, norms and sums apart; the parameters' own by default.
  void set_compute_type(at::ScalarType type) { compute_ = type; }
  at::ScalarType compute_type() const { return compute_; }
  // Where the parameters are. Latents, timesteps and the context's maps must be there too; texts
  // are moved.
  at::Device device() const { return patch_weight_.device(); }

  // The linear layers that may be kept in fewer bits, block by block.
  void visit_large(const std::function<void(Linear&)>& visit);
  // For inference: where libtorch multiplies BF16 slowly, large layers of that type compute by own
  // loops from now on. Where it has instructions for BF16 nothing changes.
  void pack();

  // Keys and values per frame that a store for this model has to keep.
  memory::KvLayout kv_layout(int64_t batch, const camera::TokenGrid& grid) const;

 private:
  at::Tensor patchify(const at::Tensor& latents) const;
  at::Tensor unpatchify(const at::Tensor& tokens, int64_t frames,
                        const camera::TokenGrid& grid) const;
  // [B, F] → [B, F, width], FP32.
  at::Tensor time_embedding(const at::Tensor& timesteps) const;

  TransformerConfig config_;
  std::shared_ptr<Parameters> parameters_;
  at::ScalarType compute_;
  at::Tensor patch_weight_, patch_bias_;
  Linear time_in_, time_out_, time_proj_, text_in_, text_out_;
  std::vector<Block> blocks_;
  at::Tensor head_table_;  // [1, 2, width]
  Linear head_;
};

}  // namespace loci::model
