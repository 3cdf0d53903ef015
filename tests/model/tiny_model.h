// SPDX-License-Identifier: Apache-2.0
// A small transformer with random weights, and inputs for it.
#pragma once

#include <vector>

#include <ATen/ATen.h>

#include "loci/camera/camera.h"
#include "loci/model/transformer/transformer.h"

namespace loci::testing {

// Two blocks with one head, the second with a recurrent memory; chunks of two frames.
model::TransformerConfig tiny_config();

// No weights are zero or the identity, so that every path affects the result.
model::Transformer random_transformer(const model::TransformerConfig& config,
                                      at::ScalarType dtype = at::kFloat, uint64_t seed = 1);

// One window: a moving and turning camera, latents of 4x6, a short text.
struct TinyWindow {
  std::vector<camera::Camera> cameras;
  camera::TokenGrid grid;
  at::Tensor latents;    // [B, channels, F, 4, 6]
  at::Tensor timesteps;  // [B, F], the same within a chunk
  at::Tensor text;       // [B, 3, text_dim]
  model::TokenMaps maps;
  std::vector<model::ChunkSpan> chunks;

  int64_t frames() const { return static_cast<int64_t>(cameras.size()); }
};
TinyWindow tiny_window(const model::TransformerConfig& config, int64_t chunks, int64_t batch = 1,
                       at::ScalarType dtype = at::kFloat, uint64_t seed = 1);

// The velocity of the window; `states`, if given, receives the states after it.
at::Tensor window_velocity(const model::Transformer& transformer, const TinyWindow& window,
                           std::vector<at::Tensor>* states = nullptr);

// Largest difference divided by the standard deviation of the expected values.
double relative_error(const at::Tensor& got, const at::Tensor& expected);

}  // namespace loci::testing
