// SPDX-License-Identifier: Apache-2.0
// Saves the past of a CachedTransformer as named tensors and restores it.
#include <algorithm>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/memory/recurrent/recurrent_registry.h"
#include "loci/sample/stream/cached_transformer.h"
#include "loci/sample/stream/pose_tensors.h"

namespace loci::sample {

namespace {

using Tensors = std::map<std::string, at::Tensor>;

at::Tensor find(const Tensors& tensors, const std::string& name) {
  const auto found = tensors.find(name);
  return found == tensors.end() ? at::Tensor() : found->second;
}

at::Tensor integers(const Tensors& tensors, const std::string& name) {
  const at::Tensor found = find(tensors, name);
  if (!found.defined() || found.dim() != 1 || found.scalar_type() != at::kLong) {
    fail("the saved stream lacks the integers '{}'", name);
  }
  return found.contiguous();
}

void save_policy(const memory::HistoryPolicy& policy, Tensors& tensors) {
  std::vector<int64_t> frames, roles, details, origins;
  std::vector<camera::Camera> cameras;
  std::vector<at::Tensor> keys, queries;
  for (const auto& [frame, role, detail] : policy.save()) {
    frames.push_back(frame.index);
    roles.push_back(static_cast<int64_t>(role));
    details.push_back(detail);
    origins.push_back(static_cast<int64_t>(frame.origin));
    cameras.push_back(frame.camera);
    if (!frame.key.defined()) continue;
    keys.push_back(frame.key);
    queries.push_back(frame.query);
  }
  tensors["policy.frames"] = at::tensor(frames, at::kLong);
  tensors["policy.roles"] = at::tensor(roles, at::kLong);
  tensors["policy.origins"] = at::tensor(origins, at::kLong);
  if (std::ranges::any_of(details, [](int64_t detail) { return detail != 0; })) {
    tensors["policy.details"] = at::tensor(details, at::kLong);
  }
  tensors["policy.poses"] = pose_tensor(cameras);
  tensors["policy.lenses"] = lens_tensor(cameras);
  if (!keys.empty()) {
    tensors["policy.keys"] = at::stack(keys);
    tensors["policy.queries"] = at::stack(queries);
  }
}

// Integers of every frame that files need not have; zeros if they are missing.
at::Tensor optional_integers(const Tensors& tensors, const std::string& name, int64_t count) {
  if (!tensors.contains(name)) return at::zeros({count}, at::kLong);
  at::Tensor found = integers(tensors, name);
  if (found.numel() != count) {
    fail("the saved history has {} frames and {} values of '{}'", count, found.numel(), name);
  }
  return found;
}

// An integer of a file as a value of an enumeration whose values are 0 to `last`.
template <typename Enum>
Enum checked_enum(int64_t value, Enum last, const char* what, int64_t frame) {
  if (value < 0 || value > static_cast<int64_t>(last)) {
    fail("the saved history has frame {} with {} {}; expected 0 to {}", frame, what, value,
         static_cast<int64_t>(last));
  }
  return static_cast<Enum>(value);
}

std::vector<memory::RetainedFrame> read_retained(const Tensors& tensors, bool with_content,
                                                 const model::TransformerConfig& config) {
  const at::Tensor frames = integers(tensors, "policy.frames");
  const at::Tensor roles = integers(tensors, "policy.roles");
  const auto cameras = cameras_from(find(tensors, "policy.poses"), find(tensors, "policy.lenses"),
                                    "the saved history");
  const auto count = static_cast<size_t>(frames.numel());
  if (static_cast<size_t>(roles.numel()) != count || cameras.size() != count) {
    fail("the saved history has {} frames, {} roles and {} cameras", count, roles.numel(),
         cameras.size());
  }
  // Worlds saved by earlier versions have no origins; zero is kGenerated.
  const at::Tensor origins = optional_integers(tensors, "policy.origins", frames.numel());
  const at::Tensor details = optional_integers(tensors, "policy.details", frames.numel());
  const at::Tensor keys = find(tensors, "policy.keys");
  const at::Tensor queries = find(tensors, "policy.queries");
  const std::vector<int64_t> shape = {frames.numel(), config.heads, model::kHeadChannels};
  const bool content = with_content && count > 0;
  for (const at::Tensor& tensor : {keys, queries}) {
    if (content && (!tensor.defined() || tensor.sizes() != at::IntArrayRef(shape) ||
                    tensor.scalar_type() != at::kFloat)) {
      fail("the saved history lacks the keys and queries of its frames");
    }
  }
  std::vector<memory::RetainedFrame> retained(count);
  for (size_t i = 0; i < count; ++i) {
    const auto at = static_cast<int64_t>(i);
    memory::HistoryFrame& frame = retained[i].frame;
    frame.index = frames.const_data_ptr<int64_t>()[i];
    frame.camera = cameras[i];
    frame.origin = checked_enum(origins.const_data_ptr<int64_t>()[i], memory::Origin::kRecorded,
                                "origin", frame.index);
    retained[i].role = checked_enum(roles.const_data_ptr<int64_t>()[i], memory::FrameRole::kRecent,
                                    "role", frame.index);
    retained[i].detail = details.const_data_ptr<int64_t>()[i];
    if (!content) continue;
    frame.key = keys.select(0, at).clone();
    frame.query = queries.select(0, at).clone();
  }
  return retained;
}

}  // namespace

Tensors CachedTransformer::save() const {
  Tensors tensors;
  for (size_t layer = 0; layer < states_.size(); ++layer) {
    if (states_[layer].defined()) tensors[fmt::format("state.{}", layer)] = states_[layer];
  }
  for (auto& [name, tensor] : store_.save()) tensors["kv." + name] = tensor;
  for (const auto& [frame, latent] : latents_) {
    tensors[fmt::format("latent.{}", frame)] = latent;
  }
  save_policy(policy(), tensors);
  tensors["next_frame"] = at::tensor({next_frame()}, at::kLong);
  if (const auto& pose = planner_.world_to_first()) {
    tensors["world_to_first"] = pose_tensor(std::span(&*pose, 1));
  }
  return tensors;
}

void CachedTransformer::restore(const Tensors& tensors) {
  chunk_.reset();
  const at::Tensor next = integers(tensors, "next_frame");
  if (next.numel() != 1 || next.item<int64_t>() < 0)
    fail("the saved stream has no valid 'next_frame'");
  const auto next_frame = next.item<int64_t>();
  std::optional<camera::Pose> world_to_first;
  if (next_frame > 0) {
    const auto first = poses_from(find(tensors, "world_to_first"), "pose of the saved stream");
    if (first.size() != 1) fail("the saved stream has {} first poses; expected 1", first.size());
    world_to_first = first.front();
  }
  const model::TransformerConfig& config = model_.config();
  const auto memory = memory::make_recurrent_memory(config.recurrent_memory);
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    at::Tensor state = find(tensors, fmt::format("state.{}", layer));
    if (state.defined()) {
      const bool fits =
          config.is_hybrid(layer) && state.scalar_type() == model::wide(model_.compute_type()) &&
          state.sizes() ==
              at::IntArrayRef(memory->state_shape(store_.layout().batch, config.recurrent_heads(),
                                                  model::kHeadChannels, grid_));
      if (!fits) fail("the saved state of layer {} does not fit this model", layer);
      state = state.clone();
    }
    states_[layer] = state;
  }
  Tensors stored;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with("kv.")) stored[name.substr(3)] = tensor;
  }
  store_.restore(stored);
  planner_.restore(next_frame, world_to_first,
                   read_retained(tensors, policy().wants_content(), config));
  const std::vector<int64_t> retained = policy().retained();
  latents_.clear();
  if (recomputes()) {
    for (const int64_t frame : retained) {
      const at::Tensor latent = find(tensors, fmt::format("latent.{}", frame));
      const std::vector<int64_t> shape = {store_.layout().batch, config.channels, 1,
                                          grid_.rows * config.patch, grid_.columns * config.patch};
      if (!latent.defined() || latent.sizes() != at::IntArrayRef(shape)) {
        fail("the saved stream lacks the latents of frame {}", frame);
      }
      latents_[frame] = latent.clone();
    }
    store_.retain({});
    return;
  }
  for (const int64_t frame : retained) {
    if (!store_.has(frame)) fail("the saved stream lacks the keys of frame {}", frame);
  }
  // Frames that the policy does not retain would occupy slots of later frames.
  store_.retain(retained);
}

}  // namespace loci::sample
