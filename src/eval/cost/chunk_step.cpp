// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/cost/chunk_step.h"

#include <array>
#include <cmath>
#include <numeric>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include "loci/camera/geometry.h"
#include "loci/memory/recurrent/recurrent_registry.h"
#include "loci/model/transformer/layers.h"
#include "loci/model/transformer/model_maps.h"

namespace loci::eval {

namespace {

// Distance of the frames of a bounded history, as if they had been selected.
constexpr int64_t kApart = 3;

at::Tensor random(at::IntArrayRef shape, uint64_t seed) {
  return at::randn(shape, at::make_generator<at::CPUGeneratorImpl>(seed), at::kFloat);
}

// Index of the first frame of the chunk.
int64_t start_of(const ChunkStepOptions& options) {
  return options.past_frames * (options.bounded ? kApart : 1);
}

// Maps of a camera that moves forward and turns slowly.
model::TokenMaps chunk_maps(const model::TransformerConfig& config,
                            const ChunkStepOptions& options) {
  std::vector<camera::Camera> cameras;
  std::vector<double> times;
  for (int64_t i = 0; i < config.chunk_size; ++i) {
    const auto t = static_cast<double>(i + 1);
    cameras.push_back(
        {{camera::rotation_from_angles(0.05 * t, 0.01 * t), {0.1 * t, 0, 0.3 * t}}, {}});
    times.push_back(static_cast<double>(start_of(options) + i));
  }
  constexpr std::array<int64_t, 1> kOneChunk = {0};
  return model::model_maps(config, cameras, kOneChunk, times, options.grid);
}

memory::KvLayout store_layout(const model::TransformerConfig& config,
                              const ChunkStepOptions& options) {
  memory::KvLayout layout =
      model::kv_layout(config, /*batch=*/1, options.grid.tokens(), options.dtype);
  layout.format = options.kv;
  layout.staging_bytes = options.staging_bytes;
  return layout;
}

// Number of slots, as in a stream: a bounded store has room for the chunk to be committed.
int64_t capacity(const model::TransformerConfig& config, const ChunkStepOptions& options) {
  return options.past_frames + config.chunk_size;
}

}  // namespace

ChunkStep::ChunkStep(const model::TransformerConfig& config, const ChunkStepOptions& options)
    : options_(options),
      maps_(chunk_maps(config, options)),
      store_(store_layout(config, options), capacity(config, options)),
      states_(static_cast<size_t>(config.layers)) {
  const at::NoGradGuard no_grad;
  std::vector<int64_t> frames;
  for (int64_t i = 0; i < options.past_frames; ++i) {
    frames.push_back(i * (options.bounded ? kApart : 1));
    store_.add_frames(frames.back(), 1);
  }
  for (const memory::Branch branch : {memory::Branch::kMain, memory::Branch::kCamera}) {
    // All frames are rotated copies of one random frame. Drawing billions of random numbers would
    // take longer than the step.
    const std::vector<int64_t> shape = {1, options.grid.tokens(), store_.layout().heads_of(branch),
                                        model::kHeadChannels};
    const at::Tensor key = 0.5 * random(shape, 1), value = random(shape, 2);
    for (int64_t layer = 0; layer < config.layers; ++layer) {
      if (!store_.layout().keeps(layer, branch)) continue;
      for (int64_t i = 0; i < options.past_frames; ++i) {
        store_.put(layer, branch, frames[static_cast<size_t>(i)], key.roll(5 * i + layer, 1),
                   value.roll(7 * i + layer, 1));
      }
    }
  }
  past_ = model::PastKeys(
      store_, options.bounded
                  ? memory::VisibleHistory::at_compact_times(std::move(frames), start_of(options))
                  : memory::VisibleHistory::at_own_times(std::move(frames), start_of(options)));
  const auto memory = memory::make_recurrent_memory(config.recurrent_memory);
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    if (!config.is_hybrid(layer)) continue;
    const std::vector<int64_t> shape =
        memory->state_shape(1, config.recurrent_heads(), model::kHeadChannels, options.grid);
    states_[static_cast<size_t>(layer)] = (0.1 * random(shape, 3)).to(model::wide(options.dtype));
  }
}

model::ForwardContext ChunkStep::context() const {
  model::ForwardContext context;
  context.visible.maps = &maps_;
  context.visible.chunks.resize(1);
  context.visible.chunks.front().end = maps_.frames;
  context.visible.past = &past_;
  context.memory.states = states_;
  context.memory.write_states = false;
  return context;
}

}  // namespace loci::eval
