// SPDX-License-Identifier: Apache-2.0
#include "loci/memory/kv/kv_store.h"

#include <algorithm>
#include <array>
#include <functional>

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::memory {

namespace {

constexpr int64_t kGrowthFrames = 64;
constexpr std::array kBranches = {Branch::kMain, Branch::kCamera};
constexpr const char* kFrames = "frames";

std::string tensor_name(int64_t layer, Branch branch, const char* what) {
  return fmt::format("{}.{}.{}", branch == Branch::kMain ? "main" : "camera", layer, what);
}

}  // namespace

int64_t KvLayout::frame_bytes() const {
  const auto main = std::count(main_layers.begin(), main_layers.end(), true);
  const int64_t rows = main * heads + layers() * camera_heads;
  return 2 * KvSlots::slot_bytes({batch, tokens, rows, channels}, dtype, format);
}

KvStore::KvStore(KvLayout layout, int64_t capacity)
    : layout_(std::move(layout)),
      bounded_(capacity > 0),
      main_(layout_.layers()),
      camera_(layout_.layers()) {
  for (int64_t layer = 0; layer < layout_.layers(); ++layer) {
    for (const Branch branch : kBranches) {
      if (!layout_.keeps(layer, branch)) continue;
      const bool on_host = branch == Branch::kMain && layout_.offload_main;
      const KvSlots empty(
          {layout_.batch, layout_.tokens, layout_.heads_of(branch), layout_.channels},
          layout_.dtype, layout_.format, on_host ? at::Device(at::kCPU) : layout_.device);
      slots(layer, branch) = {empty, empty};
    }
  }
  if (bounded_) grow(capacity);
}

KvStore KvStore::clone() const {
  KvStore copy(*this);
  for (std::vector<Slots>* all : {&copy.main_, &copy.camera_}) {
    for (Slots& each : *all) each = {each.key.clone(), each.value.clone()};
  }
  return copy;
}

void KvStore::grow(int64_t added) {
  for (std::vector<Slots>* all : {&main_, &camera_}) {
    for (Slots& each : *all) {
      if (!each.key.defined()) continue;
      each.key.grow(added);
      each.value.grow(added);
    }
  }
  for (int64_t slot = allocated_; slot < allocated_ + added; ++slot) free_.push_back(slot);
  // The lowest slots are assigned first, so that frames that are never dropped are in order.
  std::sort(free_.begin(), free_.end(), std::greater());
  allocated_ += added;
}

void KvStore::add_frames(int64_t first, int64_t count) {
  for (int64_t frame = first; frame < first + count; ++frame) {
    LOCI_CHECK(!has(frame), "frame {} is already stored", frame);
    if (free_.empty()) {
      LOCI_CHECK(!bounded_, "no slot is free for frame {}: {} frames are retained", frame,
                 slot_of_.size());
      // Grows by a fraction of the size, so that each frame is copied a bounded number of times.
      grow(std::max(kGrowthFrames, allocated_ / 8));
    }
    slot_of_[frame] = free_.back();
    free_.pop_back();
  }
}

KvStore::Slots& KvStore::slots(int64_t layer, Branch branch) {
  return branch == Branch::kMain ? main_[layer] : camera_[layer];
}

const KvStore::Slots& KvStore::slots(int64_t layer, Branch branch) const {
  return branch == Branch::kMain ? main_[layer] : camera_[layer];
}

void KvStore::put(int64_t layer, Branch branch, int64_t first, const at::Tensor& key,
                  const at::Tensor& value) {
  Slots& target = slots(layer, branch);
  LOCI_CHECK(target.key.defined(), "layer {} keeps no history in this branch", layer);
  LOCI_CHECK(key.size(1) % layout_.tokens == 0, "{} tokens are not whole frames of {}", key.size(1),
             layout_.tokens);
  const int64_t count = key.size(1) / layout_.tokens;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t slot = slot_of_.at(first + i);
    target.key.put(slot, key.narrow(1, i * layout_.tokens, layout_.tokens));
    target.value.put(slot, value.narrow(1, i * layout_.tokens, layout_.tokens));
  }
}

void KvStore::retain(std::span<const int64_t> frames) {
  std::map<int64_t, int64_t> kept;
  for (const int64_t frame : frames) {
    const auto found = slot_of_.find(frame);
    if (found != slot_of_.end()) kept.insert(*found);
  }
  for (const auto& [frame, slot] : slot_of_) {
    if (!kept.contains(frame)) free_.push_back(slot);
  }
  std::sort(free_.begin(), free_.end(), std::greater());
  slot_of_ = std::move(kept);
}

kernels::AttentionPast KvStore::past(int64_t layer, Branch branch, std::span<const int64_t> frames,
                                     const std::optional<kernels::HeadMap>& rotation) const {
  const Slots& source = slots(layer, branch);
  std::vector<int64_t> index;
  for (const int64_t frame : frames) index.push_back(slot_of_.at(frame));
  return {source.key.tensor(), source.value.tensor(), std::move(index),
          layout_.dtype,       layout_.device,        rotation};
}

std::vector<int64_t> KvStore::frames() const {
  std::vector<int64_t> frames;
  for (const auto& [frame, slot] : slot_of_) frames.push_back(frame);
  return frames;
}

int64_t KvStore::bytes() const { return allocated_ * layout_.frame_bytes(); }

std::map<std::string, at::Tensor> KvStore::save() const {
  std::vector<int64_t> used;
  for (const auto& [frame, slot] : slot_of_) used.push_back(slot);
  const at::Tensor index = at::tensor(used, at::kLong);
  std::map<std::string, at::Tensor> tensors;
  tensors[kFrames] = at::tensor(frames(), at::kLong);
  for (int64_t layer = 0; layer < layout_.layers(); ++layer) {
    for (const Branch branch : kBranches) {
      if (!layout_.keeps(layer, branch)) continue;
      const auto add = [&](const KvSlots& stored, const char* what, const char* scales) {
        const KvSlots::Raw raw = stored.save(index);
        tensors[tensor_name(layer, branch, what)] = raw.data;
        if (raw.scale.defined()) tensors[tensor_name(layer, branch, scales)] = raw.scale;
      };
      add(slots(layer, branch).key, "key", "key_scale");
      add(slots(layer, branch).value, "value", "value_scale");
    }
  }
  return tensors;
}

void KvStore::restore(const std::map<std::string, at::Tensor>& tensors) {
  const auto find = [&](const std::string& name) {
    const auto found = tensors.find(name);
    return found == tensors.end() ? at::Tensor() : found->second;
  };
  const at::Tensor listed = find(kFrames);
  if (!listed.defined() || listed.dim() != 1 || listed.scalar_type() != at::kLong) {
    fail("the saved history has no list of frames");
  }
  const at::Tensor dense = listed.contiguous();
  const std::span frames(dense.const_data_ptr<int64_t>(), static_cast<size_t>(dense.numel()));
  if (bounded_ && dense.numel() > allocated_) {
    fail("the saved history has {} frames; this store has room for {}", dense.numel(), allocated_);
  }
  slot_of_.clear();
  free_.clear();
  for (int64_t slot = allocated_; slot-- > 0;) free_.push_back(slot);
  for (const int64_t frame : frames) {
    if (frame < 0 || has(frame))
      fail("the saved history lists the frame {}, which is negative or listed twice", frame);
    add_frames(frame, 1);
  }
  for (int64_t layer = 0; layer < layout_.layers(); ++layer) {
    for (const Branch branch : kBranches) {
      if (!layout_.keeps(layer, branch)) continue;
      const auto take = [&](KvSlots& stored, const char* what, const char* scales) {
        const KvSlots::Raw raw = {find(tensor_name(layer, branch, what)),
                                  find(tensor_name(layer, branch, scales))};
        if (raw.data.defined() && raw.data.dim() > 0 && raw.data.size(0) != dense.numel()) {
          fail("the saved history has {} frames in layer {} and lists {}", raw.data.size(0), layer,
               dense.numel());
        }
        stored.restore(raw);
      };
      take(slots(layer, branch).key, "key", "key_scale");
      take(slots(layer, branch).value, "value", "value_scale");
    }
  }
}

}  // namespace loci::memory
