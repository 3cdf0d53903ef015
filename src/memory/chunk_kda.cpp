// SPDX-License-Identifier: Apache-2.0
// Chunk-synchronous KDA: S ← D S once, then the delta rule over the chunk's tokens.
#include <ATen/ATen.h>

#include "loci/kernels/delta_rule.h"
#include "loci/memory/recurrent_memory.h"

namespace loci::memory {

namespace {

class ChunkKda : public RecurrentMemory {
 public:
  explicit ChunkKda(bool projective) : projective_(projective) {}

  std::string_view name() const override {
    return projective_ ? "chunk_kda" : "chunk_kda_no_camera";
  }
  bool projective() const override { return projective_; }

  at::Tensor write(const at::Tensor& state, const ChunkWrite& chunk,
                   const camera::TokenGrid&) const override {
    const at::Tensor retention = chunk.log_retention.select(1, 0).exp();  // [B, H, D]
    const at::Tensor decayed = state * retention.unsqueeze(-1);
    return kernels::delta_write(decayed.flatten(0, 1), fold_heads(chunk.key),
                                fold_heads(chunk.value), chunk.beta.transpose(1, 2).flatten(0, 1))
        .view(state.sizes());
  }

 private:
  bool projective_;
};

}  // namespace

std::shared_ptr<const RecurrentMemory> make_chunk_kda(bool projective) {
  return std::make_shared<ChunkKda>(projective);
}

}  // namespace loci::memory
