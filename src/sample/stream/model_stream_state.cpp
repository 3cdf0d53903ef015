// SPDX-License-Identifier: Apache-2.0
// The past of a ModelStream as named tensors, and back.
#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/memory/recurrent/recurrent_memory.h"
#include "loci/sample/stream/model_stream.h"
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
    fail("the saved stream lacks its whole numbers '{}'", name);
  }
  return found.contiguous();
}

void save_policy(const memory::HistoryPolicy& policy, Tensors& tensors) {
  std::vector<int64_t> frames, roles, origins;
  std::vector<camera::Camera> cameras;
  std::vector<at::Tensor> keys, queries;
  for (const memory::HeldFrame& held : policy.save()) {
    frames.push_back(held.view.frame);
    roles.push_back(held.role);
    origins.push_back(static_cast<int64_t>(held.view.origin));
    cameras.push_back({held.view.pose, held.view.lens});
    if (!held.view.key.defined()) continue;
    keys.push_back(held.view.key);
    queries.push_back(held.view.query);
  }
  tensors["policy.frames"] = at::tensor(frames, at::kLong);
  tensors["policy.roles"] = at::tensor(roles, at::kLong);
  tensors["policy.origins"] = at::tensor(origins, at::kLong);
  tensors["policy.poses"] = pose_tensor(cameras);
  tensors["policy.lenses"] = lens_tensor(cameras);
  if (!keys.empty()) {
    tensors["policy.keys"] = at::stack(keys);
    tensors["policy.queries"] = at::stack(queries);
  }
}

void restore_policy(memory::HistoryPolicy& policy, const Tensors& tensors,
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
  // Worlds of before origins were told have none: all frames count alike then.
  const at::Tensor origins = tensors.contains("policy.origins")
                                 ? integers(tensors, "policy.origins")
                                 : at::zeros_like(roles);
  if (origins.numel() != frames.numel()) {
    fail("the saved history has {} frames and {} origins", count, origins.numel());
  }
  const at::Tensor keys = find(tensors, "policy.keys");
  const at::Tensor queries = find(tensors, "policy.queries");
  const std::vector<int64_t> shape = {frames.numel(), config.heads, model::kHeadChannels};
  const bool content = policy.wants_content() && count > 0;
  for (const at::Tensor& tensor : {keys, queries}) {
    if (content && (!tensor.defined() || tensor.sizes() != at::IntArrayRef(shape) ||
                    tensor.scalar_type() != at::kFloat)) {
      fail("the saved history lacks the content of its frames");
    }
  }
  std::vector<memory::HeldFrame> held(count);
  for (size_t i = 0; i < count; ++i) {
    const auto at = static_cast<int64_t>(i);
    held[i].role = roles.const_data_ptr<int64_t>()[i];
    held[i].view.frame = frames.const_data_ptr<int64_t>()[i];
    held[i].view.pose = cameras[i].pose;
    held[i].view.lens = cameras[i].lens;
    const int64_t origin = origins.const_data_ptr<int64_t>()[i];
    if (origin != 0 && origin != 1) {
      fail("the saved history holds frame {} of origin {}, expected 0 or 1", held[i].view.frame,
           origin);
    }
    held[i].view.origin = static_cast<memory::Origin>(origin);
    if (!content) continue;
    held[i].view.key = keys.select(0, at).clone();
    held[i].view.query = queries.select(0, at).clone();
  }
  policy.restore(std::move(held));
}

}  // namespace

Tensors ModelStream::save() const {
  Tensors tensors;
  for (size_t layer = 0; layer < states_.size(); ++layer) {
    if (states_[layer].defined()) tensors[fmt::format("state.{}", layer)] = states_[layer];
  }
  for (auto& [name, tensor] : store_.save()) tensors["kv." + name] = tensor;
  save_policy(*policy_, tensors);
  tensors["next_frame"] = at::tensor({next_frame_}, at::kLong);
  if (world_to_first_) {
    tensors["world_to_first"] = pose_tensor(std::span(&*world_to_first_, 1));
  }
  return tensors;
}

void ModelStream::restore(const Tensors& tensors) {
  chunk_.reset();
  const at::Tensor next = integers(tensors, "next_frame");
  if (next.numel() != 1 || next.item<int64_t>() < 0) fail("the saved stream has no next frame");
  next_frame_ = next.item<int64_t>();
  world_to_first_.reset();
  if (next_frame_ > 0) {
    const auto first = poses_from(find(tensors, "world_to_first"), "pose of the saved stream");
    if (first.size() != 1) fail("the saved stream has {} first poses", first.size());
    world_to_first_ = first.front();
  }
  const model::TransformerConfig& config = model_.config();
  const auto memory = memory::make_recurrent_memory(config.recurrent_memory);
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    at::Tensor state = find(tensors, fmt::format("state.{}", layer));
    if (state.defined()) {
      const bool fits =
          config.is_hybrid(layer) && state.scalar_type() == model::wide(model_.compute_type()) &&
          state.sizes() == at::IntArrayRef(memory->state_shape(store_.layout().batch, config.heads,
                                                               model::kHeadChannels, grid_));
      if (!fits) fail("the saved state of layer {} is not this model's", layer);
      state = state.clone();
    }
    states_[layer] = state;
  }
  Tensors stored;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with("kv.")) stored[name.substr(3)] = tensor;
  }
  store_.restore(stored);
  restore_policy(*policy_, tensors, config);
  const std::vector<int64_t> retained = policy_->retained();
  for (const int64_t frame : retained) {
    if (frame >= next_frame_) {
      fail("the saved stream keeps frame {} but has only {} frames", frame, next_frame_);
    }
    if (!store_.has(frame)) fail("the saved stream lacks the keys of frame {}", frame);
  }
  // Others would stand in the way of frames to come.
  store_.retain(retained);
}

}  // namespace loci::sample
