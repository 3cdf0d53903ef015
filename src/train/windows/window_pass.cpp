// SPDX-License-Identifier: Apache-2.0
#include "loci/train/windows/window_pass.h"

#include <numeric>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "loci/base/random.h"
#include "loci/camera/time_grid.h"
#include "loci/train/windows/clean_copies.h"

namespace loci::train {

namespace {

constexpr uint64_t kSequenceNoise = 2;

at::Tensor as_mask(const std::vector<bool>& flags) {
  return at::tensor(std::vector<int64_t>(flags.begin(), flags.end())).to(at::kBool);
}

// Frame 0 and the target chunks of a batch.
NoisedBatch target_part(const NoisedBatch& batch, const std::vector<bool>& targets, int64_t chunk) {
  const camera::TimeGrid grid{.latents_per_chunk = chunk};
  std::vector<int64_t> chunks, frames = {0};
  for (size_t i = 0; i < targets.size(); ++i) {
    if (!targets[i]) continue;
    chunks.push_back(static_cast<int64_t>(i));
    const camera::IndexRange range = grid.latents_of_chunk(1 + chunks.back());
    for (int64_t frame = range.begin; frame < range.end; ++frame) frames.push_back(frame);
  }
  const at::Tensor index = at::tensor(frames);
  return {batch.latents.index_select(2, index), batch.timesteps.index_select(1, index),
          batch.target.index_select(2, index), batch.levels.index_select(1, at::tensor(chunks))};
}

// Replaces the input by target chunks and their clean copies, which are taken from `past`. Returns
// the window frame of each frame of the input.
std::vector<int64_t> place_copies(WindowPass& pass, const NoisedBatch& past, int64_t chunk) {
  CopiedInput input = with_clean_copies(pass.chunks, pass.targets);
  const at::Tensor index = at::tensor(input.frames);
  const at::Tensor target = as_mask(input.target);
  pass.latents = at::where(target.view({1, 1, -1, 1, 1}), pass.latents.index_select(2, index),
                           past.latents.index_select(2, index));
  pass.timesteps = at::where(target, pass.timesteps.index_select(1, index),
                             past.timesteps.index_select(1, index));
  pass.outputs = input.outputs();
  pass.chunks = std::move(input.chunks);
  if (!pass.targets.empty()) {
    pass.batch = target_part(pass.batch, pass.targets, chunk);
    pass.chunk_weights = pass.chunk_weights.index({as_mask(pass.targets)});
  }
  return std::move(input.frames);
}

}  // namespace

WindowPass assemble_window(const Window& window, const model::TransformerConfig& model,
                           const WindowPlan& plan, uint64_t key, at::Device device,
                           const GeneratedPast& generated) {
  const int64_t chunk = model.chunk_size;
  at::Generator generator =
      at::make_generator<at::CPUGeneratorImpl>(hash_keys({key, kSequenceNoise}));
  const auto noised = [&](const at::Tensor& clean, const std::vector<double>& levels) {
    return noise_windows(clean.unsqueeze(0), {levels},
                         at::randn(clean.unsqueeze(0).sizes(), generator, at::kFloat), chunk);
  };
  const bool copies = !plan.noise.copy_levels.empty();
  const at::Tensor past = generated.latents.defined() ? generated.latents : window.latents;
  WindowPass pass;
  pass.batch = noised(copies ? window.latents : past, plan.noise.levels);
  pass.latents = pass.batch.latents;
  pass.timesteps = pass.batch.timesteps;
  pass.chunk_weights = at::tensor(plan.noise.weights, at::kFloat);
  pass.targets = plan.targets;
  pass.chunks = plan.chunks;
  pass.drop_caption = plan.drop_caption;
  std::vector<int64_t> frames(static_cast<size_t>(window.latents.size(1)));
  std::iota(frames.begin(), frames.end(), int64_t{0});
  if (copies) frames = place_copies(pass, noised(past, plan.noise.copy_levels), chunk);
  for (at::Tensor* tensor : {&pass.batch.latents, &pass.batch.timesteps, &pass.batch.target,
                             &pass.latents, &pass.timesteps, &pass.chunk_weights}) {
    *tensor = tensor->to(device);
  }
  pass.maps = window_maps(window, frames, pass.chunks, model).to(device);
  for (model::ChunkSpan& span : pass.chunks) {
    if (span.rotation) span.rotation = span.rotation->to(device);
  }
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
  context.memory.readout = options.readout;
  context.observers = options.observers;
  context.checkpoint_blocks = options.checkpoint_blocks;
  const at::Tensor velocity = transformer.forward(pass.latents, pass.timesteps, context);
  if (pass.outputs.empty()) return velocity;
  return velocity.index_select(2, at::tensor(pass.outputs).to(velocity.device()));
}

std::vector<model::ChunkSpan> whole_past(const WindowPass& pass, int64_t chunk_size) {
  const camera::TimeGrid grid{.latents_per_chunk = chunk_size};
  const int64_t frames = pass.targets.empty()
                             ? pass.batch.latents.size(2)
                             : grid.latents_in_chunks(1 + std::ssize(pass.targets));
  std::vector<model::ChunkSpan> chunks = model::window_chunks(frames, chunk_size);
  return pass.outputs.empty() ? chunks : with_clean_copies(chunks, pass.targets).chunks;
}

}  // namespace loci::train
