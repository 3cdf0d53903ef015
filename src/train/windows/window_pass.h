// SPDX-License-Identifier: Apache-2.0
// One window's way through the transformer, for training, validation and distillation alike.
#pragma once

#include <functional>

#include "loci/model/transformer/transformer.h"
#include "loci/train/windows/history_access.h"
#include "loci/train/windows/noise_levels.h"
#include "loci/train/losses/window_loss.h"

namespace loci::train {

// Noise, geometry and history of a window, all drawn from `key`.
struct WindowPass {
  NoisedBatch batch;  // of one window: its frame 0 and the chunks that are learnt from
  // The input where every chunk has a past copy; otherwise the batch's own.
  at::Tensor latents, timesteps;  // [1, C, G, h, w] and [1, G]
  std::vector<int64_t> outputs;   // those of the G frames that answer for the batch's; empty: all
  std::vector<bool> asked;        // the window's chunks that the batch has; empty: all
  model::TokenMaps maps;
  std::vector<model::ChunkSpan> chunks;
  at::Tensor chunk_weights;  // [the batch's chunks] in the loss
  bool drop_text = false;    // the window is to be seen without its caption
};

// What the model itself made of part of a window (guessed_past.h).
struct GuessedPast {
  at::Tensor latents;        // [C, F, h, w], the window's where nothing was guessed
  std::vector<bool> chunks;  // those that were; empty: none
};

// On `device`, the transformer's; what is drawn does not depend on it. Guessed chunks are past to
// the others: as copies where there are any, otherwise in place of the true ones.
WindowPass prepare_window(const Window& window, const model::TransformerConfig& model,
                          const NoiseConfig& noise, const HistoryAccessConfig& history,
                          double text_dropout, uint64_t key, at::Device device = at::kCPU,
                          const GuessedPast& guess = {});
// With given noise.
WindowPass prepare_window(const Window& window, const model::TransformerConfig& model,
                          const ChunkNoise& noise, const HistoryAccessConfig& history,
                          double text_dropout, uint64_t key, at::Device device = at::kCPU,
                          const GuessedPast& guess = {});

struct PassOptions {
  bool checkpoint_blocks = false;
  model::Readout readout = model::Readout::kOn;
  std::vector<at::Tensor>* block_outputs = nullptr;  // filled, one a block
  model::OnRecurrent on_recurrent;
  // Called with a hybrid layer's number and its log retention.
  std::function<void(int64_t, const at::Tensor&)> on_retention;
};

// The chunks of a prepared window with its whole past in sight.
std::vector<model::ChunkSpan> whole_past(const WindowPass& pass, int64_t chunk_size);

// Velocity [1, C, F, h, w] of a prepared window. `text` as CaptionEncoder gives it.
at::Tensor run_window(const model::Transformer& transformer, const WindowPass& pass,
                      const at::Tensor& text, const PassOptions& options = {});

}  // namespace loci::train
