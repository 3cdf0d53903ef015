// SPDX-License-Identifier: Apache-2.0
// Block-wise diagonal state-space scan: the token grid is divided into blocks, and each block has
// its own state, which is scanned over the block's tokens in time, S ← diag(exp g) S + β k vᵀ.
// Small blocks shorten the scan between frames, but each block sees only its part of the image.
#include <cmath>

#include <ATen/ATen.h>

#include "loci/memory/recurrent/recurrent_memory.h"

namespace loci::memory {

namespace {

// Number of blocks per side; a side that is not a multiple of it is not divided.
constexpr int64_t kBlocks = 2;

// The tokens of one frame by block: [blocks, T / blocks].
at::Tensor block_tokens(const camera::TokenGrid& grid, at::Device device) {
  const int64_t down = grid.rows % kBlocks == 0 ? kBlocks : 1;
  const int64_t across = grid.columns % kBlocks == 0 ? kBlocks : 1;
  return at::arange(grid.tokens(), at::TensorOptions(device).dtype(at::kLong))
      .view({down, grid.rows / down, across, grid.columns / across})
      .permute({0, 2, 1, 3})
      .reshape({down * across, -1});
}

// [B, N, H, X] → [B, blocks, H, N / blocks, X], tokens of a block in order of time.
at::Tensor to_blocks(const at::Tensor& x, const at::Tensor& tokens, int64_t tokens_per_frame) {
  const at::Tensor frames = x.unflatten(1, {-1, tokens_per_frame});    // [B, F, T, H, X]
  const at::Tensor picked = frames.index_select(2, tokens.flatten());  // [B, F, T, H, X]
  return picked
      .unflatten(2, {tokens.size(0), tokens.size(1)})  // [B, F, b, t, H, X]
      .permute({0, 2, 4, 1, 3, 5})                     // [B, b, H, F, t, X]
      .flatten(3, 4);
}

class StateSpace : public RecurrentMemory {
 public:
  std::string_view name() const override { return "ssm"; }
  Grain grain() const override { return Grain::kToken; }

  std::vector<int64_t> state_shape(int64_t batch, int64_t heads, int64_t channels,
                                   const camera::TokenGrid& grid) const override {
    return {batch, block_tokens(grid, at::kCPU).size(0), heads, channels, channels};
  }

  at::Tensor read(const at::Tensor& state, const at::Tensor& query,
                  const camera::TokenGrid& grid) const override {
    const at::Tensor tokens = block_tokens(grid, state.device());
    const double scale = 1 / std::sqrt(static_cast<double>(query.size(-1)));
    const at::Tensor out = at::matmul(to_blocks(query, tokens, grid.tokens()), state) * scale;
    const at::Tensor frames =
        out.unflatten(3, {-1, tokens.size(1)}).permute({0, 3, 1, 4, 2, 5}).flatten(2, 3);
    return frames.index_select(2, tokens.flatten().argsort()).flatten(1, 2);
  }

  at::Tensor write(const at::Tensor& state, const ChunkWrite& chunk,
                   const camera::TokenGrid& grid) const override {
    const at::Tensor tokens = block_tokens(grid, state.device());
    const auto blocks = [&](const at::Tensor& x) { return to_blocks(x, tokens, grid.tokens()); };
    const at::Tensor total = blocks(chunk.log_retention).cumsum(3);
    const at::Tensor last = total.slice(3, -1);
    // The retentions of later tokens decay a token's write, so every exponent is <= 0.
    const at::Tensor key = blocks(chunk.key * chunk.beta.unsqueeze(-1)) * (last - total).exp();
    return last.exp().transpose(-1, -2) * state +
           at::matmul(key.transpose(-1, -2), blocks(chunk.value));
  }
};

}  // namespace

std::shared_ptr<const RecurrentMemory> make_state_space() { return std::make_shared<StateSpace>(); }

}  // namespace loci::memory
