// SPDX-License-Identifier: Apache-2.0
// The loss of a window in chunk-wise diffusion forcing: frame 0 is clean, every chunk has its own
// noise level, and the target is the flow-matching velocity.
#pragma once

#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/model/transformer/transformer.h"
#include "loci/train/data/window.h"

namespace loci::train {

// Windows with noise.
struct NoisedBatch {
  at::Tensor latents;    // [B, C, F, h, w]
  at::Tensor timesteps;  // [B, F], 1000 * level
  at::Tensor target;     // [B, C, F, h, w]: noise - clean
  at::Tensor levels;     // [B, chunks after frame 0]
};

// `clean` and `noise` (standard normal) [B, C, F, h, w]; levels[b] has one entry per chunk after
// frame 0.
NoisedBatch noise_windows(const at::Tensor& clean, const std::vector<std::vector<double>>& levels,
                          const at::Tensor& noise, int64_t chunk_size);

// Geometry of an input. `frames` are the window frames that it shows, some possibly twice; `chunks`
// are the chunks of the input.
model::TokenMaps window_maps(const Window& window, std::span<const int64_t> frames,
                             const std::vector<model::ChunkSpan>& chunks,
                             const model::TransformerConfig& config);

struct LossOptions {
  at::Tensor channel_weights;  // [C]; undefined: equal weights
  // If positive, the mean squared error e of a frame counts as a log(1 + e / a) for this value a:
  // small errors linearly, large errors by their decibels. 0: e itself.
  double log_above = 0;
};

// Mean squared error of the velocity per sample and chunk, [B, chunks], without frame 0.
at::Tensor chunk_losses(const at::Tensor& velocity, const at::Tensor& target, int64_t chunk_size,
                        const LossOptions& options = {});

}  // namespace loci::train
