// SPDX-License-Identifier: Apache-2.0
#include "loci/train/windows/window_pass.h"

#include <algorithm>
#include <numeric>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "loci/base/random.h"
#include "loci/train/windows/memory_gaps.h"
#include "loci/train/windows/past_copies.h"

namespace loci::train {

namespace {

// Streams of random numbers of one window.
enum : uint64_t {
  kStreamLevels = 1,
  kStreamNoise = 2,
  kStreamText = 3,
  kStreamHistory = 4,
  kStreamAsked = 5
};

// Of a window's chunks, the returns, and of the others the given share; the last, if there are
// none.
std::vector<bool> draw_asked(const Window& window, int64_t chunk, double new_share,
                             Random& random) {
  std::vector<bool> asked;
  for (const std::optional<double>& gap : memory_gaps(window, chunk)) {
    asked.push_back(random.chance(new_share) || gap.has_value());
  }
  if (std::ranges::find(asked, true) == asked.end()) asked.back() = true;
  return asked;
}

// The batch's frame 0 and the chunks that are asked for.
NoisedBatch asked_part(const NoisedBatch& batch, const std::vector<bool>& asked, int64_t chunk) {
  std::vector<int64_t> chunks, frames = {0};
  for (size_t i = 0; i < asked.size(); ++i) {
    if (!asked[i]) continue;
    chunks.push_back(static_cast<int64_t>(i));
    for (int64_t j = 0; j < chunk; ++j) frames.push_back(1 + chunks.back() * chunk + j);
  }
  const at::Tensor at_frames = at::tensor(frames);
  return {batch.latents.index_select(2, at_frames), batch.timesteps.index_select(1, at_frames),
          batch.target.index_select(2, at_frames),
          batch.levels.index_select(1, at::tensor(chunks))};
}

}  // namespace

WindowPass prepare_window(const Window& window, const model::TransformerConfig& model,
                          const NoiseConfig& noise, const HistoryAccessConfig& history,
                          double text_dropout, uint64_t key, at::Device device,
                          const GuessedPast& guess) {
  const int64_t chunks = (window.latents.size(1) - 1) / model.chunk_size;
  Random random{key, kStreamLevels};
  return prepare_window(window, model, draw_chunk_noise(noise, chunks, random, guess.chunks),
                        history, text_dropout, key, device, guess);
}

WindowPass prepare_window(const Window& window, const model::TransformerConfig& model,
                          const ChunkNoise& noise, const HistoryAccessConfig& history,
                          double text_dropout, uint64_t key, at::Device device,
                          const GuessedPast& guess) {
  const int64_t chunk = model.chunk_size;
  const bool copies = !noise.past_levels.empty();
  Random random{key, kStreamHistory};
  at::Generator generator =
      at::make_generator<at::CPUGeneratorImpl>(hash_keys({key, kStreamNoise}));
  const auto noised = [&](const at::Tensor& clean, const std::vector<double>& levels) {
    return noise_windows(clean.unsqueeze(0), {levels},
                         at::randn(clean.unsqueeze(0).sizes(), generator, at::kFloat), chunk);
  };
  const at::Tensor past = guess.latents.defined() ? guess.latents : window.latents;
  const camera::TokenGrid grid = model.grid(window.latents.size(2), window.latents.size(3));
  const double aspect =
      static_cast<double>(window.latents.size(3)) / static_cast<double>(window.latents.size(2));
  WindowPass pass;
  pass.batch = noised(copies ? window.latents : past, noise.levels);
  pass.chunks = draw_history_access(history, chunk, grid.tokens(),
                                    camera::relative_to_first(window.cameras), aspect, random);
  pass.latents = pass.batch.latents;
  pass.timesteps = pass.batch.timesteps;
  std::vector<int64_t> frames(static_cast<size_t>(window.latents.size(1)));
  std::iota(frames.begin(), frames.end(), int64_t{0});
  pass.chunk_weights = at::tensor(noise.weights, at::kFloat);
  if (copies) {
    if (history.new_share < 1) {
      Random chance{key, kStreamAsked};
      pass.asked = draw_asked(window, chunk, history.new_share, chance);
    }
    PastCopies input = with_past_copies(pass.chunks, pass.asked);
    const NoisedBatch seen = noised(past, noise.past_levels);
    const at::Tensor index = at::tensor(input.frames);
    const at::Tensor present =
        at::tensor(std::vector<int64_t>(input.present.begin(), input.present.end())).to(at::kBool);
    pass.latents = at::where(present.view({1, 1, -1, 1, 1}), pass.latents.index_select(2, index),
                             seen.latents.index_select(2, index));
    pass.timesteps = at::where(present, pass.timesteps.index_select(1, index),
                               seen.timesteps.index_select(1, index));
    pass.outputs = input.outputs();
    pass.chunks = std::move(input.chunks);
    frames = std::move(input.frames);
    if (!pass.asked.empty()) {
      pass.batch = asked_part(pass.batch, pass.asked, chunk);
      pass.chunk_weights = pass.chunk_weights.index(
          {at::tensor(std::vector<int64_t>(pass.asked.begin(), pass.asked.end())).to(at::kBool)});
    }
  }
  for (at::Tensor* tensor : {&pass.batch.latents, &pass.batch.timesteps, &pass.batch.target,
                             &pass.latents, &pass.timesteps}) {
    *tensor = tensor->to(device);
  }
  pass.chunk_weights = pass.chunk_weights.to(device);
  pass.maps = window_maps(window, frames, pass.chunks, model).to(device);
  for (model::ChunkSpan& span : pass.chunks) {
    if (span.rotation) span.rotation = span.rotation->to(device);
  }
  pass.drop_text = Random{key, kStreamText}.chance(text_dropout);
  return pass;
}

at::Tensor run_window(const model::Transformer& transformer, const WindowPass& pass,
                      const at::Tensor& text, const PassOptions& options) {
  const model::TextKeys text_keys = transformer.text_keys(text);
  model::ForwardContext context;
  context.visible.maps = &pass.maps;
  context.visible.text = &text_keys;
  context.visible.chunks = pass.chunks;
  context.memory.write_states = false;
  context.checkpoint_blocks = options.checkpoint_blocks;
  context.memory.readout = options.readout;
  context.observers.block_outputs = options.block_outputs;
  context.observers.on_recurrent = options.on_recurrent;
  context.observers.on_retention = options.on_retention;
  const at::Tensor velocity = transformer.forward(pass.latents, pass.timesteps, context);
  if (pass.outputs.empty()) return velocity;
  return velocity.index_select(2, at::tensor(pass.outputs).to(velocity.device()));
}

std::vector<model::ChunkSpan> whole_past(const WindowPass& pass, int64_t chunk_size) {
  const int64_t frames =
      pass.asked.empty() ? pass.batch.latents.size(2) : 1 + std::ssize(pass.asked) * chunk_size;
  std::vector<model::ChunkSpan> chunks = model::window_chunks(frames, chunk_size);
  return pass.outputs.empty() ? chunks : with_past_copies(chunks, pass.asked).chunks;
}

}  // namespace loci::train
