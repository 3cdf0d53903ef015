// SPDX-License-Identifier: Apache-2.0
// Gated DeltaNet with one recurrent step per latent frame: the state decays by one factor per head,
// then all tokens of the frame update it together,
//   S ← γ S + (1/T) Kᵀ diag(β) (V - K γ S).
// With unit keys and β <= 2 the eigenvalues of (1/T) Kᵀ diag(β) K are in [0, 2], so a step never
// increases the error of the state.
#include <ATen/ATen.h>

#include "loci/memory/recurrent/recurrent_memory.h"

namespace loci::memory {

namespace {

class FrameDeltaNet : public RecurrentMemory {
 public:
  std::string_view name() const override { return "frame_deltanet"; }
  Grain grain() const override { return Grain::kFrame; }

  at::Tensor write(const at::Tensor& state, const ChunkWrite& chunk,
                   const camera::TokenGrid& grid) const override {
    const int64_t tokens = grid.tokens();
    const at::Tensor key = fold_heads(chunk.key);
    const at::Tensor value = fold_heads(chunk.value);
    const at::Tensor beta = chunk.beta.transpose(1, 2).flatten(0, 1).unsqueeze(-1);
    // Gated DeltaNet has one gate per head: the mean of the channels' log retentions.
    const at::Tensor gate = fold_heads(chunk.log_retention).mean(-1, /*keepdim=*/true).exp();
    at::Tensor current = state.flatten(0, 1);
    for (int64_t frame = 0; frame * tokens < key.size(1); ++frame) {
      const at::Tensor k = key.narrow(1, frame * tokens, tokens);
      current = current * gate.narrow(1, frame, 1);
      const at::Tensor error =
          at::baddbmm(value.narrow(1, frame * tokens, tokens), k, current, 1, -1);
      current =
          at::baddbmm(current, k.transpose(1, 2), beta.narrow(1, frame * tokens, tokens) * error, 1,
                      1 / static_cast<double>(tokens));
    }
    return current.view(state.sizes());
  }
};

}  // namespace

std::shared_ptr<const RecurrentMemory> make_frame_deltanet() {
  return std::make_shared<FrameDeltaNet>();
}

}  // namespace loci::memory
