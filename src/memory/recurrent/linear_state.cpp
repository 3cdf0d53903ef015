// SPDX-License-Identifier: Apache-2.0
// Additive linear attention: S ← S + φ(K)ᵀ diag(β) [V | 1], readout = φ(q) S divided by its last
// column. Nothing is forgotten or corrected.
#include <cmath>

#include <ATen/ATen.h>

#include "loci/memory/recurrent/recurrent_memory.h"

namespace loci::memory {

namespace {

// Positive features, so that the normaliser is positive after the first write.
at::Tensor features(const at::Tensor& x) {
  return at::elu(x * std::sqrt(static_cast<double>(x.size(-1)))) + 1;
}

class LinearState : public RecurrentMemory {
 public:
  std::string_view name() const override { return "linear"; }

  std::vector<int64_t> state_shape(int64_t batch, int64_t heads, int64_t channels,
                                   const camera::TokenGrid&) const override {
    return {batch, heads, channels, channels + 1};
  }

  at::Tensor read(const at::Tensor& state, const at::Tensor& query,
                  const camera::TokenGrid&) const override {
    const at::Tensor sums = at::matmul(features(query).transpose(1, 2), state);
    const at::Tensor weight = sums.slice(-1, -1);
    return (sums.slice(-1, 0, -1) / (weight + 1e-6)).transpose(1, 2);
  }

  at::Tensor write(const at::Tensor& state, const ChunkWrite& chunk,
                   const camera::TokenGrid&) const override {
    const at::Tensor key = (features(chunk.key) * chunk.beta.unsqueeze(-1)).transpose(1, 2);
    const at::Tensor value =
        at::cat({chunk.value, at::ones_like(chunk.beta).unsqueeze(-1)}, -1).transpose(1, 2);
    return state + at::matmul(key.transpose(-1, -2), value);
  }
};

}  // namespace

std::shared_ptr<const RecurrentMemory> make_linear_state() {
  return std::make_shared<LinearState>();
}

}  // namespace loci::memory
