// SPDX-License-Identifier: Apache-2.0
// One window's way through the transformer, for training, validation and distillation alike.
#pragma once

#include <functional>

#include "loci/model/transformer.h"
#include "loci/train/history_access.h"
#include "loci/train/noise_levels.h"
#include "loci/train/window_loss.h"

namespace loci::train {

// Noise, geometry and history of a window, all drawn from `key`.
struct WindowPass {
  NoisedBatch batch;  // of one window
  model::TokenMaps maps;
  std::vector<model::ChunkSpan> chunks;
  at::Tensor chunk_weights;  // [chunks] in the loss
  bool drop_text = false;    // the window is to be seen without its caption
};

// On `device`, the transformer's; what is drawn does not depend on it. `guessed` as for
// draw_chunk_noise().
WindowPass prepare_window(const Window& window, const model::TransformerConfig& model,
                          const NoiseConfig& noise, const HistoryAccessConfig& history,
                          double text_dropout, uint64_t key, at::Device device = at::kCPU,
                          const std::vector<bool>& guessed = {});
// With given noise.
WindowPass prepare_window(const Window& window, const model::TransformerConfig& model,
                          const ChunkNoise& noise, const HistoryAccessConfig& history,
                          double text_dropout, uint64_t key, at::Device device = at::kCPU);

struct PassOptions {
  bool checkpoint_blocks = false;
  model::Readout readout = model::Readout::kOn;
  std::vector<at::Tensor>* block_outputs = nullptr;  // filled, one a block
  // Called with a hybrid layer's number and its log retention.
  std::function<void(int64_t, const at::Tensor&)> on_retention;
};

// Velocity [1, C, F, h, w] of a prepared window. `text` as CaptionEncoder gives it.
at::Tensor run_window(const model::Transformer& transformer, const WindowPass& pass,
                      const at::Tensor& text, const PassOptions& options = {});

}  // namespace loci::train
