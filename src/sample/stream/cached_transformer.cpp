// SPDX-License-Identifier: Apache-2.0
#include "loci/sample/stream/cached_transformer.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/random.h"
#include "loci/camera/time_grid.h"
#include "loci/model/transformer/model_maps.h"
#include "loci/sample/stream/finite.h"

namespace loci::sample {

namespace {

// A bounded store has room for the retained frames and the chunk that is being committed.
int64_t store_capacity(const memory::HistoryPolicy& policy, int64_t chunk_size) {
  return policy.stored_frames() > 0 ? policy.stored_frames() + chunk_size : 0;
}

memory::KvLayout store_layout(const model::Transformer& model, int64_t batch,
                              const camera::TokenGrid& grid, const KvOptions& kv) {
  memory::KvLayout layout = model.kv_layout(batch, grid);
  layout.format = kv.format;
  layout.offload_main = kv.offload_main;
  layout.staging_bytes = kv.staging_bytes;
  return layout;
}

// The layer whose mean queries and keys describe the content of a frame: the middle softmax layer,
// or the middle layer if there is none.
int64_t content_layer(const model::TransformerConfig& config) {
  std::vector<int64_t> layers;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    if (!config.is_hybrid(layer)) layers.push_back(layer);
  }
  return layers.empty() ? config.layers / 2 : layers[layers.size() / 2];
}

}  // namespace

CachedTransformer::CachedTransformer(const model::Transformer& model, camera::TokenGrid grid,
                                     model::TextKeys text,
                                     std::unique_ptr<memory::HistoryPolicy> policy,
                                     const KvOptions& kv)
    : model_(model),
      grid_(grid),
      text_(std::move(text)),
      planner_(std::move(policy), model.config().key_times),
      store_(store_layout(model, text_.layers.front().key.size(0), grid, kv),
             store_capacity(planner_.policy(), model.config().chunk_size)),
      states_(model.config().layers) {}

CachedTransformer::CachedTransformer(const CachedTransformer& other)
    : model_(other.model_),
      grid_(other.grid_),
      text_(other.text_),
      planner_(other.planner_),
      store_(other.store_.clone()),
      states_(other.states_),  // commits replace states and never modify them
      latents_(other.latents_),
      readout_(other.readout_),
      readout_seed_(other.readout_seed_),
      retention_(other.retention_) {}

std::unique_ptr<CachedTransformer> CachedTransformer::fork() const {
  return std::unique_ptr<CachedTransformer>(new CachedTransformer(*this));
}

void CachedTransformer::open_chunk(std::span<const camera::Camera> cameras) {
  const model::TransformerConfig& config = model_.config();
  const int64_t each = config.projection.cameras_per_latent;
  const int64_t frames = std::ssize(cameras) / each;
  const int64_t most = next_frame() == 0 && !config.given_in_chunk ? 1 : config.chunk_size;
  LOCI_CHECK(frames >= 1 && frames <= most && std::ssize(cameras) == frames * each,
             "the chunk at frame {} has {} cameras, expected {}", next_frame(), cameras.size(),
             most * each);
  OpenChunk chunk;
  // A model that was trained with a constant lens never sees another one.
  std::vector<camera::Camera> seen(cameras.begin(), cameras.end());
  if (const auto& focal = config.projection.focal) {
    for (camera::Camera& camera : seen) {
      camera.lens.normalised = {(*focal)[0], (*focal)[1], 0.5, 0.5};
    }
  }
  // The policy knows a frame by its last camera.
  std::vector<camera::Camera> last;
  for (int64_t i = each - 1; i < std::ssize(seen); i += each) {
    last.push_back(seen[static_cast<size_t>(i)]);
  }
  chunk.planned = planner_.plan(last);
  const std::vector<camera::Camera> relative = map_cameras(seen);
  constexpr std::array<int64_t, 1> kOneChunk = {0};
  const memory::VisibleHistory& visible = chunk.planned.visible;
  std::vector<double> times(frames);
  std::iota(times.begin(), times.end(), visible.start_time + config.time_offset);
  chunk.maps = model::model_maps(config, relative, kOneChunk, times, grid_).to(model_.device());
  const at::NoGradGuard no_grad;
  if (recomputes()) recompute(visible);
  if (config.stores_raw_keys() && !visible.frames.empty()) {
    chunk.past = model::PastKeys(
        store_, visible, model::raw_key_map(config, visible.cameras, visible.key_times, grid_));
  } else {
    chunk.past = model::PastKeys(store_, visible);
  }
  chunk_ = std::move(chunk);
}

std::vector<camera::Camera> CachedTransformer::map_cameras(
    std::span<const camera::Camera> cameras) const {
  std::vector<camera::Camera> all(cameras.begin(), cameras.end());
  if (model_.config().world_poses) return all;
  for (camera::Camera& camera : all) camera.pose = *planner_.world_to_first() * camera.pose;
  return all;
}

void CachedTransformer::set_context(const Context& given) {
  LOCI_CHECK(chunk_.has_value(), "no chunk is open");
  const at::NoGradGuard no_grad;
  const model::TransformerConfig& config = model_.config();
  chunk_->fixed.reset();
  model::FixedKeys keys;
  if (given.frame.defined()) {
    // One pass of the frame alone, whose keys and values serve this chunk only.
    constexpr std::array<int64_t, 1> kOneChunk = {0};
    const std::array<double, 1> time = {static_cast<double>(given.index) + config.time_offset};
    const model::TokenMaps maps =
        model::model_maps(config, map_cameras(given.cameras), kOneChunk, time, grid_)
            .to(model_.device());
    memory::KvStore alone(model_.kv_layout(given.frame.size(0), grid_), 1);
    alone.add_frames(given.index, 1);
    model::ForwardContext forward;
    forward.visible.maps = &maps;
    forward.visible.text = &text_;
    forward.visible.chunks = model::even_chunks(1, 1);
    forward.memory.write_states = false;
    forward.memory.store = &alone;
    forward.memory.store_first = given.index;
    model_.forward(given.frame, at::zeros({given.frame.size(0), 1}, given.frame.options()),
                   forward);
    const std::array<int64_t, 1> frame = {given.index};
    for (int64_t layer = 0; layer < config.layers; ++layer) {
      const kernels::AttentionPast past = alone.past(layer, memory::Branch::kMain, frame);
      keys.layers.push_back({past.keys(), past.values()});
    }
  }
  if (given.memory.defined()) {
    const int64_t p = config.patch;
    const at::Tensor filled = given.memory.ne(0)
                                  .any(0)
                                  .any(0)
                                  .unflatten(2, {-1, p})
                                  .unflatten(1, {-1, p})
                                  .any(4)
                                  .any(2)
                                  .flatten();
    const at::Tensor index = filled.nonzero().flatten();
    if (index.numel() > 0) keys.append(model_.fixed_keys(given.memory, chunk_->maps, index));
  }
  if (!keys.layers.empty()) chunk_->fixed = std::move(keys);
}

void CachedTransformer::recompute(const memory::VisibleHistory& visible) {
  chunk_.reset();  // its past refers to the store
  store_.retain({});
  if (visible.frames.empty()) return;
  const int64_t count = std::ssize(visible.frames), first = visible.frames.front();
  LOCI_CHECK(visible.frames.back() - first + 1 == count,
             "the history has gaps; only consecutive frames can be computed again");
  std::vector<at::Tensor> parts;
  for (const int64_t frame : visible.frames) parts.push_back(latents_.at(frame));
  const at::Tensor latents = at::cat(parts, 2);
  std::vector<int64_t> starts;
  model::ForwardContext forward;
  forward.visible.chunks = model::even_chunks(count, model_.config().chunk_size);
  for (const model::ChunkSpan& span : forward.visible.chunks) starts.push_back(span.begin);
  const model::TokenMaps maps =
      model::model_maps(model_.config(), visible.cameras, starts, visible.key_times, grid_)
          .to(model_.device());
  forward.visible.maps = &maps;
  forward.visible.text = &text_;
  forward.memory.write_states = false;
  store_.add_frames(first, count);
  forward.memory.store = &store_;
  forward.memory.store_first = first;
  model_.forward(latents, at::zeros({latents.size(0), count}, latents.options()), forward);
}

void CachedTransformer::set_actions(const at::Tensor& actions, const at::Tensor& embodiments) {
  LOCI_CHECK(chunk_.has_value(), "no chunk is open");
  chunk_->conditions.actions = actions;
  chunk_->conditions.embodiments = embodiments;
}

model::ForwardContext CachedTransformer::context() const {
  LOCI_CHECK(chunk_.has_value(), "no chunk is open");
  model::ForwardContext context;
  context.visible.maps = &chunk_->maps;
  context.visible.text = &text_;
  context.visible.chunks.resize(1);
  context.visible.chunks.front().end = chunk_->maps.frames;
  context.visible.past = &chunk_->past;
  if (chunk_->fixed) context.visible.fixed = &*chunk_->fixed;
  context.conditions = chunk_->conditions;
  context.memory.states = states_;
  context.memory.readout = readout_;
  context.memory.readout_seed =
      hash_keys({readout_seed_, static_cast<uint64_t>(chunk_->planned.frames.front().index)});
  return context;
}

at::Tensor CachedTransformer::velocity(const at::Tensor& latents, const at::Tensor& timesteps,
                                       const Inspection& inspection,
                                       const at::Tensor& target_timesteps) const {
  const at::NoGradGuard no_grad;
  model::ForwardContext forward = context();
  forward.memory.write_states = false;
  forward.memory.readout = inspection.readout.value_or(forward.memory.readout);
  forward.observers.on_attention = inspection.on_attention;
  forward.conditions.target_timesteps = target_timesteps;
  at::Tensor velocity = model_.forward(latents, timesteps, forward);
  if (!all_finite(velocity)) report_not_finite(latents, timesteps);
  return velocity;
}

void CachedTransformer::prepare_commit(const at::Tensor& latents, const at::Tensor& timesteps) {
  const at::NoGradGuard no_grad;
  if (recomputes()) {
    prepared_.emplace().latents = latents;
    prepared_->states = states_;
    return;
  }
  model::ForwardContext forward = context();
  store_.add_frames(next_frame(), chunk_->maps.frames);
  forward.memory.store = &store_;
  forward.memory.store_first = next_frame();
  Prepared prepared;
  if (policy().wants_content()) {
    prepared.probe.emplace().layer = content_layer(model_.config());
    forward.observers.probe = &*prepared.probe;
  }
  double kept = 0;
  int64_t layers = 0;
  forward.observers.on_retention = [&](int64_t, const at::Tensor& log_retention) {
    kept += log_retention.exp().mean().item<double>();
    ++layers;
  };
  try {
    // A NaN in a layer's keys, values or output reaches the velocity. States are checked one by
    // one, because a chunk does not read its own write.
    if (!all_finite(model_.forward(latents, timesteps, forward))) {
      report_not_finite(latents, timesteps);
    }
    for (size_t layer = 0; layer < forward.memory.states.size(); ++layer) {
      if (all_finite(forward.memory.states[layer])) continue;
      fail_check(
          "{}: the recurrent state of layer {} has NaN or infinite values; the chunk was discarded",
          chunk_name(), layer);
    }
  } catch (...) {
    cancel_commit();
    throw;
  }
  prepared.states = std::move(forward.memory.states);
  if (layers > 0) prepared.retention = kept / static_cast<double>(layers);
  prepared_ = std::move(prepared);
}

void CachedTransformer::finish_commit(memory::Origin origin) {
  LOCI_CHECK(prepared_.has_value(), "no commit was prepared");
  states_ = std::move(prepared_->states);
  std::vector<memory::HistoryFrame>& frames = chunk_->planned.frames;
  for (size_t i = 0; i < frames.size(); ++i) {
    frames[i].origin = origin;
    if (!prepared_->probe) continue;
    // The samples of the batch share one past.
    frames[i].key = prepared_->probe->key.select(1, static_cast<int64_t>(i)).mean(0);
    frames[i].query = prepared_->probe->query.select(1, static_cast<int64_t>(i)).mean(0);
  }
  planner_.commit(frames);
  const std::vector<int64_t> retained = policy().retained();
  if (recomputes()) {
    for (size_t i = 0; i < frames.size(); ++i) {
      latents_[frames[i].index] = prepared_->latents.narrow(2, static_cast<int64_t>(i), 1);
    }
    std::erase_if(latents_, [&](const auto& each) {
      return !std::ranges::binary_search(retained, each.first);
    });
    store_.retain({});
  } else {
    store_.retain(retained);
  }
  if (prepared_->retention) retention_ = prepared_->retention;
  chunk_.reset();
  prepared_.reset();
}

void CachedTransformer::cancel_commit() {
  prepared_.reset();
  if (!recomputes()) store_.retain(policy().retained());
}

std::string CachedTransformer::chunk_name() const {
  return fmt::format("chunk {} (latents from {})",
                     model_.config().time_grid().chunk_of_latent(next_frame()), next_frame());
}

void CachedTransformer::report_not_finite(const at::Tensor& latents,
                                          const at::Tensor& timesteps) const {
  constexpr const char* kAdvice =
      "the chunk was discarded; try FP32 if this is BF16, another seed or trajectory, and check "
      "the weights";
  if (!all_finite(latents)) {
    fail_check("{}: the latents have NaN or infinite values; {}", chunk_name(), kAdvice);
  }
  // A second forward pass with observers finds the layer.
  model::ForwardContext forward = context();
  forward.memory.write_states = false;
  std::vector<at::Tensor> outputs;
  forward.observers.block_outputs = &outputs;
  model_.forward(latents, timesteps, forward);
  for (size_t layer = 0; layer < outputs.size(); ++layer) {
    if (all_finite(outputs[layer])) continue;
    fail_check("{}: the output of layer {} has NaN or infinite values; {}", chunk_name(), layer,
               kAdvice);
  }
  fail_check("{}: the output of the last projection has NaN or infinite values; {}", chunk_name(),
             kAdvice);
}

void CachedTransformer::reset_states() { states_.assign(states_.size(), at::Tensor()); }

std::optional<camera::Pose> CachedTransformer::first_pose() const {
  if (!planner_.world_to_first()) return std::nullopt;
  return planner_.world_to_first()->inverse();
}

const std::vector<int64_t>& CachedTransformer::visible() const {
  LOCI_CHECK(chunk_.has_value(), "no chunk is open");
  return chunk_->planned.visible.frames;
}

}  // namespace loci::sample
