// SPDX-License-Identifier: Apache-2.0
#include "loci/train/window_pass.h"

#include <span>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "loci/base/random.h"

namespace loci::train {

namespace {

// Streams of random numbers of one window.
enum : uint64_t { kStreamLevels = 1, kStreamNoise = 2, kStreamText = 3, kStreamHistory = 4 };

}  // namespace

WindowPass prepare_window(const Window& window, const model::TransformerConfig& model,
                          const NoiseConfig& noise, const HistoryAccessConfig& history,
                          double text_dropout, uint64_t key, at::Device device,
                          const std::vector<bool>& guessed) {
  const int64_t chunks = (window.latents.size(1) - 1) / model.chunk_size;
  Random random{key, kStreamLevels};
  return prepare_window(window, model, draw_chunk_noise(noise, chunks, random, guessed), history,
                        text_dropout, key, device);
}

WindowPass prepare_window(const Window& window, const model::TransformerConfig& model,
                          const ChunkNoise& noise, const HistoryAccessConfig& history,
                          double text_dropout, uint64_t key, at::Device device) {
  const std::span<const Window> one(&window, 1);
  const int64_t chunk = model.chunk_size;
  Random random{key, kStreamHistory};
  at::Generator generator =
      at::make_generator<at::CPUGeneratorImpl>(hash_keys({key, kStreamNoise}));
  WindowPass pass;
  pass.batch =
      noise_windows(one, {noise.levels},
                    at::randn(window.latents.unsqueeze(0).sizes(), generator, at::kFloat), chunk);
  for (at::Tensor* tensor : {&pass.batch.latents, &pass.batch.timesteps, &pass.batch.target}) {
    *tensor = tensor->to(device);
  }
  pass.chunk_weights = at::tensor(noise.weights, at::kFloat).to(device);
  pass.maps = window_maps(one, model).to(device);
  const double aspect =
      static_cast<double>(window.latents.size(3)) / static_cast<double>(window.latents.size(2));
  pass.chunks =
      draw_history_access(history, chunk, pass.maps.grid.tokens(),
                          camera::relative_to_first(window.poses), window.lenses, aspect, random);
  for (model::ChunkSpan& span : pass.chunks) span.turn = span.turn.to(device);
  pass.drop_text = Random{key, kStreamText}.chance(text_dropout);
  return pass;
}

at::Tensor run_window(const model::Transformer& transformer, const WindowPass& pass,
                      const at::Tensor& text, const PassOptions& options) {
  const model::TextKeys text_keys = transformer.text_keys(text);
  model::ForwardContext context;
  context.maps = &pass.maps;
  context.text = &text_keys;
  context.chunks = pass.chunks;
  context.write_states = false;
  context.checkpoint_blocks = options.checkpoint_blocks;
  context.readout = options.readout;
  context.block_outputs = options.block_outputs;
  context.on_retention = options.on_retention;
  return transformer.forward(pass.batch.latents, pass.batch.timesteps, context);
}

}  // namespace loci::train
