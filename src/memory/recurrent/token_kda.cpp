// SPDX-License-Identifier: Apache-2.0
// KDA with retention at every token: forgetting follows the raster order of tokens. It is the
// baseline of the chunk-synchronous memory.
#include <ATen/ATen.h>

#include "loci/kernels/delta_rule/delta_rule.h"
#include "loci/memory/recurrent/recurrent_memory.h"

namespace loci::memory {

namespace {

class TokenKda : public RecurrentMemory {
 public:
  std::string_view name() const override { return "token_kda"; }
  Grain grain() const override { return Grain::kToken; }

  at::Tensor write(const at::Tensor& state, const ChunkWrite& chunk,
                   const camera::TokenGrid&) const override {
    return kernels::decayed_delta_write(
               state.flatten(0, 1), fold_heads(chunk.key), fold_heads(chunk.value),
               chunk.beta.transpose(1, 2).flatten(0, 1), fold_heads(chunk.log_retention))
        .view(state.sizes());
  }
};

}  // namespace

std::shared_ptr<const RecurrentMemory> make_token_kda() { return std::make_shared<TokenKda>(); }

}  // namespace loci::memory
