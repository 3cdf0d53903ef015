// SPDX-License-Identifier: Apache-2.0
// Keys and values of past frames, for every layer and both attention branches.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/memory/kv/kv_slots.h"

namespace loci::memory {

enum class Branch { kMain, kCamera };

// Sizes and storage format of a store; they do not change.
struct KvLayout {
  int64_t batch = 1;
  int64_t tokens = 0;  // per latent frame
  int64_t heads = 0;
  int64_t camera_heads = 0;
  int64_t channels = 0;
  std::vector<bool> main_layers;      // per layer: whether its main branch keeps history
  at::ScalarType dtype = at::kFloat;  // type of use of keys and values
  KvFormat format = KvFormat::kPlain;
  at::Device device = at::kCPU;  // where keys and values are used
  // Keeps the slots of the main branch in host memory. A chunk copies at most `staging_bytes` of
  // them to the device at its start, and the rest layer by layer at each use. The limit also
  // applies to the copies of rotated keys if host and device are the same.
  bool offload_main = false;
  int64_t staging_bytes = 0;  // 0 = no limit

  int64_t layers() const { return static_cast<int64_t>(main_layers.size()); }
  bool keeps(int64_t layer, Branch branch) const {
    return branch == Branch::kMain ? main_layers[layer] : camera_heads > 0;
  }
  int64_t heads_of(Branch branch) const { return branch == Branch::kMain ? heads : camera_heads; }
  // Bytes of one latent frame over all layers and branches.
  int64_t frame_bytes() const;
};

// A dropped frame's slot is reused. With a capacity, all slots are allocated at construction and
// memory does not grow. Without a capacity, slots are added as the stream grows.
class KvStore {
 public:
  // `capacity` in frames; 0 = no limit.
  KvStore(KvLayout layout, int64_t capacity);
  KvStore(KvStore&&) = default;
  // An independent copy with the same frames.
  KvStore clone() const;

  const KvLayout& layout() const { return layout_; }

  // Assigns slots to `count` new frames from `first` on. Their keys have the times first,
  // first + 1, ….
  void add_frames(int64_t first, int64_t count);
  // Stores the keys and values of new frames, [B, count*T, H, D] each. Must be called once for
  // every layer and branch of the layout.
  void put(int64_t layer, Branch branch, int64_t first, const at::Tensor& key,
           const at::Tensor& value);
  // Drops all frames except these (ascending).
  void retain(std::span<const int64_t> frames);

  // Stored frames (ascending) for attention, with keys rotated by `rotation` if given. Valid while
  // these frames are retained, also if slots are added.
  kernels::AttentionPast past(int64_t layer, Branch branch, std::span<const int64_t> frames,
                              const std::optional<kernels::HeadMap>& rotation = {}) const;

  std::vector<int64_t> frames() const;
  bool has(int64_t frame) const { return slot_of_.contains(frame); }
  // Bytes allocated for slots.
  int64_t bytes() const;

  // All frames as named tensors, for a file. restore() expects a store with the same layout and
  // capacity; tensors that do not fit are bad input.
  std::map<std::string, at::Tensor> save() const;
  void restore(const std::map<std::string, at::Tensor>& tensors);

 private:
  struct Slots {
    KvSlots key, value;
  };
  KvStore(const KvStore&) = default;  // shares tensors; only for clone()
  void grow(int64_t slots);
  Slots& slots(int64_t layer, Branch branch);
  const Slots& slots(int64_t layer, Branch branch) const;

  KvLayout layout_;
  bool bounded_;
  int64_t allocated_ = 0;
  std::vector<Slots> main_, camera_;  // per layer; undefined if the layer keeps nothing
  std::map<int64_t, int64_t> slot_of_;
  std::vector<int64_t> free_;  // the last one is assigned next
};

}  // namespace loci::memory
