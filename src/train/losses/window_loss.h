// SPDX-License-Identifier: Apache-2.0
// Chunk-wise diffusion forcing: frame 0 clean, every chunk at its own noise level, one forward over
// the window from zero state, flow-matching velocity as the target.
#pragma once

#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/model/transformer/transformer.h"
#include "loci/train/windows/window.h"

namespace loci::train {

// Windows noised and ready for a forward pass.
struct NoisedBatch {
  at::Tensor latents;    // [B, C, F, h, w]
  at::Tensor timesteps;  // [B, F], 1000 * level
  at::Tensor target;     // [B, C, F, h, w]: noise - clean
  at::Tensor levels;     // [B, chunks], chunks after frame 0
};

// `clean` and `noise` (standard normal) [B, C, F, h, w]; levels[b] has one entry per chunk after
// frame 0.
NoisedBatch noise_windows(const at::Tensor& clean, const std::vector<std::vector<double>>& levels,
                          const at::Tensor& noise, int64_t chunk_size);

// Geometry of the frames of a window that an input shows, some perhaps twice; `chunks` are those of
// the input.
model::TokenMaps window_maps(const Window& window, std::span<const int64_t> frames,
                             const std::vector<model::ChunkSpan>& chunks,
                             const model::TransformerConfig& config);

struct LossOptions {
  at::Tensor channel_weights;  // [C]; undefined: channels count alike
  // If positive, the mean squared error e of a frame counts as this times log(1 + e / this): small
  // errors as they are, large ones by their decibels. 0: all as they are.
  double log_above = 0;
};

// Squared error of the velocity per sample and chunk, [B, chunks]; frame 0 does not count.
at::Tensor chunk_losses(const at::Tensor& velocity, const at::Tensor& target, int64_t chunk_size,
                        const LossOptions& options = {});

}  // namespace loci::train
