// SPDX-License-Identifier: Apache-2.0
// The forward pass of one window, for training, validation and distillation.
#pragma once

#include <vector>

#include "loci/model/transformer/transformer.h"
#include "loci/train/data/window.h"
#include "loci/train/losses/window_loss.h"
#include "loci/train/windows/generated_past.h"
#include "loci/train/windows/past_levels.h"

namespace loci::train {

// The random choices of the stages for a window (window_stages.h).
struct WindowPlan {
  ChunkNoise noise;
  // Per chunk after frame 0: whether it is a target chunk; empty: all are. Only with clean copies.
  std::vector<bool> targets;
  std::vector<model::ChunkSpan> chunks;  // of the window, with their visible history
  bool drop_caption = false;
};

// The tensors of a window's forward pass.
struct WindowPass {
  NoisedBatch batch;  // one window: frame 0 and the target chunks
  // The input of the transformer: with clean copies G frames, otherwise those of the batch.
  at::Tensor latents, timesteps;  // [1, C, G, h, w] and [1, G]
  std::vector<int64_t> outputs;   // indices of the batch's frames in the input; empty: all
  std::vector<bool> targets;      // see WindowPlan
  model::TokenMaps maps;
  std::vector<model::ChunkSpan> chunks;  // of the input
  at::Tensor chunk_weights;              // [target chunks], in the loss
  bool drop_caption = false;
};

// Adds the noise, places the clean copies and computes the geometry. Later chunks read the
// generated chunks: as clean copies if there are copies, otherwise in place of the recorded chunks.
// The random noise is drawn by `key` and does not depend on `device`.
WindowPass assemble_window(const Window& window, const model::TransformerConfig& model,
                           const WindowPlan& plan, uint64_t key, at::Device device = at::kCPU,
                           const GeneratedPast& generated = {});

struct PassOptions {
  bool checkpoint_blocks = false;
  model::Readout readout = model::Readout::kOn;
  model::Observers observers;
};

// The chunks of an assembled window, with the whole past visible.
std::vector<model::ChunkSpan> whole_past(const WindowPass& pass, int64_t chunk_size);

// Velocity [1, C, F, h, w] of the batch's frames. `text` as CaptionEncoder returns it.
at::Tensor run_window(const model::Transformer& transformer, const WindowPass& pass,
                      const at::Tensor& text, const PassOptions& options = {});

}  // namespace loci::train
