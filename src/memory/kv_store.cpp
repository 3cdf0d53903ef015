// SPDX-License-Identifier: Apache-2.0
#include "loci/memory/kv_store.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::memory {

namespace {
constexpr int64_t kGrowthFrames = 64;
}

int64_t KvLayout::frame_bytes() const {
  const auto main = std::count(main_layers.begin(), main_layers.end(), true);
  const int64_t rows = main * heads + layers() * camera_heads;
  return 2 * batch * tokens * rows * channels * static_cast<int64_t>(c10::elementSize(dtype));
}

KvStore::KvStore(KvLayout layout, int64_t capacity)
    : layout_(std::move(layout)),
      bounded_(capacity > 0),
      main_(layout_.layers()),
      camera_(layout_.layers()) {
  if (bounded_) grow(capacity);
}

void KvStore::grow(int64_t added) {
  const auto extend = [&](at::Tensor& tensor, int64_t heads) {
    at::Tensor larger =
        at::empty({allocated_ + added, layout_.batch, layout_.tokens, heads, layout_.channels},
                  at::TensorOptions(layout_.dtype));
    if (allocated_ > 0) larger.narrow(0, 0, allocated_).copy_(tensor);
    tensor = larger;
  };
  for (int64_t layer = 0; layer < layout_.layers(); ++layer) {
    if (layout_.main_layers[layer]) {
      extend(main_[layer].key, layout_.heads);
      extend(main_[layer].value, layout_.heads);
    }
    if (layout_.camera_heads > 0) {
      extend(camera_[layer].key, layout_.camera_heads);
      extend(camera_[layer].value, layout_.camera_heads);
    }
  }
  for (int64_t slot = allocated_ + added; slot-- > allocated_;) free_.push_back(slot);
  allocated_ += added;
}

void KvStore::add_frames(int64_t first, int64_t count) {
  for (int64_t frame = first; frame < first + count; ++frame) {
    LOCI_CHECK(!has(frame), "frame {} is already stored", frame);
    if (free_.empty()) {
      LOCI_CHECK(!bounded_, "no slot is left for frame {}: {} frames are retained", frame,
                 slot_of_.size());
      grow(kGrowthFrames);
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
    target.key.select(0, slot).copy_(key.narrow(1, i * layout_.tokens, layout_.tokens));
    target.value.select(0, slot).copy_(value.narrow(1, i * layout_.tokens, layout_.tokens));
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
  slot_of_ = std::move(kept);
}

KvStore::Entry KvStore::gather(int64_t layer, Branch branch,
                               std::span<const int64_t> frames) const {
  const Slots& source = slots(layer, branch);
  at::Tensor index = at::empty({static_cast<int64_t>(frames.size())}, at::kLong);
  for (size_t i = 0; i < frames.size(); ++i) {
    index.data_ptr<int64_t>()[i] = slot_of_.at(frames[i]);
  }
  const auto side_by_side = [&](const at::Tensor& stored) {
    return stored.index_select(0, index).transpose(0, 1).flatten(1, 2);
  };
  return {side_by_side(source.key), side_by_side(source.value)};
}

std::vector<int64_t> KvStore::frames() const {
  std::vector<int64_t> frames;
  for (const auto& [frame, slot] : slot_of_) frames.push_back(frame);
  return frames;
}

int64_t KvStore::bytes() const { return allocated_ * layout_.frame_bytes(); }

}  // namespace loci::memory
