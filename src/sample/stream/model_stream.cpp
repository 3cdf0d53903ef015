// SPDX-License-Identifier: Apache-2.0
#include "loci/sample/stream/model_stream.h"

#include <array>
#include <numeric>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/random.h"
#include "loci/camera/time_grid.h"
#include "loci/sample/stream/finite.h"

namespace loci::sample {

namespace {

// A bounded store holds what the policy retains and the chunk that is being committed.
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

// The layer whose queries and keys say what a frame shows: the middle one of those that attend to
// their history, else the middle one.
int64_t content_layer(const model::TransformerConfig& config) {
  std::vector<int64_t> layers;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    if (!config.is_hybrid(layer)) layers.push_back(layer);
  }
  return layers.empty() ? config.layers / 2 : layers[layers.size() / 2];
}

}  // namespace

ModelStream::ModelStream(const model::Transformer& model, camera::TokenGrid grid,
                         model::TextKeys text, std::unique_ptr<memory::HistoryPolicy> policy,
                         const KvOptions& kv)
    : model_(model),
      grid_(grid),
      text_(std::move(text)),
      policy_(std::move(policy)),
      store_(store_layout(model, text_.layers.front().key.size(0), grid, kv),
             store_capacity(*policy_, model.config().chunk_size)),
      states_(model.config().layers) {}

ModelStream::ModelStream(const ModelStream& other)
    : model_(other.model_),
      grid_(other.grid_),
      text_(other.text_),
      policy_(other.policy_->clone()),
      store_(other.store_.clone()),
      states_(other.states_),  // replaced by commits, never written to
      readout_(other.readout_),
      readout_seed_(other.readout_seed_),
      world_to_first_(other.world_to_first_),
      next_frame_(other.next_frame_),
      retention_(other.retention_) {}

std::unique_ptr<ModelStream> ModelStream::fork() const {
  return std::unique_ptr<ModelStream>(new ModelStream(*this));
}

void ModelStream::open_chunk(std::span<const camera::Camera> cameras) {
  const auto frames = static_cast<int64_t>(cameras.size());
  const int64_t most = next_frame_ == 0 ? 1 : model_.config().chunk_size;
  LOCI_CHECK(frames >= 1 && frames <= most, "the chunk at frame {} has {} cameras, expected {}",
             next_frame_, frames, most);
  if (next_frame_ == 0) world_to_first_ = cameras.front().pose.inverse();
  OpenChunk chunk;
  std::vector<camera::Camera> relative;
  for (int64_t i = 0; i < frames; ++i) {
    relative.push_back({*world_to_first_ * cameras[i].pose, cameras[i].lens});
    chunk.views.push_back({next_frame_ + i, relative.back().pose, relative.back().lens});
  }
  constexpr std::array<int64_t, 1> kOneChunk = {0};
  const std::array<camera::FrameGeometry, 1> geometry = {
      camera::frame_geometry(relative, kOneChunk, grid_, model_.config().kda_translation_scale)};
  std::vector<double> times(frames);
  std::iota(times.begin(), times.end(), static_cast<double>(next_frame_));
  chunk.maps =
      model::make_token_maps(geometry, times, model_.config().projective()).to(model_.device());
  chunk.visible = policy_->select(chunk.views);
  const std::vector<double> key_times =
      policy_->bounded()
          ? model::compact_times(next_frame_, static_cast<int64_t>(chunk.visible.size()))
          : std::vector<double>(chunk.visible.begin(), chunk.visible.end());
  const at::NoGradGuard no_grad;
  chunk.past = model::PastKeys(store_, chunk.visible, key_times);
  chunk_ = std::move(chunk);
}

model::ForwardContext ModelStream::context() const {
  LOCI_CHECK(chunk_.has_value(), "no chunk is open");
  model::ForwardContext context;
  context.maps = &chunk_->maps;
  context.text = &text_;
  context.chunks.resize(1);
  context.chunks.front().end = chunk_->maps.frames;
  context.past = &chunk_->past;
  context.states = states_;
  context.readout = readout_;
  context.readout_seed =
      hash_keys({readout_seed_, static_cast<uint64_t>(chunk_->views.front().frame)});
  return context;
}

at::Tensor ModelStream::velocity(const at::Tensor& latents, const at::Tensor& timesteps,
                                 const Inspection& inspection) const {
  const at::NoGradGuard no_grad;
  model::ForwardContext forward = context();
  forward.write_states = false;
  forward.readout = inspection.readout.value_or(forward.readout);
  forward.on_attention = inspection.on_attention;
  at::Tensor velocity = model_.forward(latents, timesteps, forward);
  if (!all_finite(velocity)) report_not_finite(latents, timesteps);
  return velocity;
}

void ModelStream::prepare_commit(const at::Tensor& latents, const at::Tensor& timesteps) {
  const at::NoGradGuard no_grad;
  model::ForwardContext forward = context();
  store_.add_frames(next_frame_, chunk_->maps.frames);
  forward.store = &store_;
  forward.store_first = next_frame_;
  Prepared prepared;
  if (policy_->wants_content()) {
    prepared.probe.emplace().layer = content_layer(model_.config());
    forward.probe = &*prepared.probe;
  }
  double kept = 0;
  int64_t layers = 0;
  forward.on_retention = [&](int64_t, const at::Tensor& log_retention) {
    kept += log_retention.exp().mean().item<double>();
    ++layers;
  };
  try {
    // A NaN in a layer's keys, values or output reaches the velocity; states are looked at one by
    // one, because a chunk does not read what it writes.
    if (!all_finite(model_.forward(latents, timesteps, forward))) {
      report_not_finite(latents, timesteps);
    }
    for (size_t layer = 0; layer < forward.states.size(); ++layer) {
      if (all_finite(forward.states[layer])) continue;
      fail_check("{}: the recurrent state of layer {} is not finite; nothing of it was kept",
                 chunk_name(), layer);
    }
  } catch (...) {
    cancel_commit();
    throw;
  }
  prepared.states = std::move(forward.states);
  if (layers > 0) prepared.retention = kept / static_cast<double>(layers);
  prepared_ = std::move(prepared);
}

void ModelStream::finish_commit(memory::Origin origin) {
  LOCI_CHECK(prepared_.has_value(), "no commit was prepared");
  const int64_t frames = chunk_->maps.frames;
  states_ = std::move(prepared_->states);
  for (int64_t i = 0; i < frames; ++i) {
    memory::FrameView view = chunk_->views[i];
    view.origin = origin;
    if (prepared_->probe) {
      // The batch's samples share one past.
      view.key = prepared_->probe->key.select(1, i).mean(0);
      view.query = prepared_->probe->query.select(1, i).mean(0);
    }
    policy_->commit(view);
  }
  store_.retain(policy_->retained());
  if (prepared_->retention) retention_ = prepared_->retention;
  next_frame_ += frames;
  chunk_.reset();
  prepared_.reset();
}

void ModelStream::cancel_commit() {
  prepared_.reset();
  store_.retain(policy_->retained());
}

std::string ModelStream::chunk_name() const {
  const int64_t size = model_.config().chunk_size;
  return fmt::format("chunk {} (latents from {})",
                     camera::TimeGrid{.latents_per_chunk = size}.chunk_of_latent(next_frame_),
                     next_frame_);
}

void ModelStream::report_not_finite(const at::Tensor& latents, const at::Tensor& timesteps) const {
  constexpr const char* kAdvice =
      "nothing of it was kept; try FP32 if this is BF16, another seed or path, and check the "
      "weights";
  if (!all_finite(latents)) {
    fail_check("{}: the latents are not finite; {}", chunk_name(), kAdvice);
  }
  // Once more, looking on: the price is paid only now.
  model::ForwardContext forward = context();
  forward.write_states = false;
  std::vector<at::Tensor> outputs;
  forward.block_outputs = &outputs;
  model_.forward(latents, timesteps, forward);
  for (size_t layer = 0; layer < outputs.size(); ++layer) {
    if (all_finite(outputs[layer])) continue;
    fail_check("{}: layer {} gives numbers that are not finite; {}", chunk_name(), layer, kAdvice);
  }
  fail_check("{}: the last projection gives numbers that are not finite; {}", chunk_name(),
             kAdvice);
}

void ModelStream::reset_states() { states_.assign(states_.size(), at::Tensor()); }

std::optional<camera::Pose> ModelStream::first_pose() const {
  if (!world_to_first_) return std::nullopt;
  return world_to_first_->inverse();
}

const std::vector<int64_t>& ModelStream::visible() const {
  LOCI_CHECK(chunk_.has_value(), "no chunk is open");
  return chunk_->visible;
}

}  // namespace loci::sample
