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

// Sizes that hold for the whole life of a store.
struct KvLayout {
  int64_t batch = 1;
  int64_t tokens = 0;  // per latent frame
  int64_t heads = 0;
  int64_t camera_heads = 0;
  int64_t channels = 0;
  std::vector<bool> main_layers;      // per layer: whether its main branch keeps history
  at::ScalarType dtype = at::kFloat;  // in which keys and values are used
  KvFormat format = KvFormat::kPlain;
  at::Device device = at::kCPU;  // where they are used
  // Keeps the main branch's slots in host memory. A chunk then brings at most `staging_bytes` of
  // them to the device at its start and the rest layer by layer whenever they are used. The same
  // limit bounds the copies that a chunk makes of its history when host and device are one.
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

// Frames live in slots that are reused when a frame is forgotten. With a capacity, everything is
// allocated once and memory never grows; without, slots are added as the stream goes on.
class KvStore {
 public:
  // `capacity` in frames; 0 = grows.
  KvStore(KvLayout layout, int64_t capacity);
  KvStore(KvStore&&) = default;
  // An independent copy with the same frames.
  KvStore clone() const;

  const KvLayout& layout() const { return layout_; }

  // Gives slots to consecutive new frames that start at `first`. Their keys were turned to the
  // times first, first + 1, … when written.
  void add_frames(int64_t first, int64_t count);
  // Keys and values of those frames, [B, count*T, H, D] each. Every layer and branch of the layout
  // has to be put once.
  void put(int64_t layer, Branch branch, int64_t first, const at::Tensor& key,
           const at::Tensor& value);
  // Forgets all frames but these (ascending).
  void retain(std::span<const int64_t> frames);

  // Frames (ascending, all present) for attention, with their keys turned by `turn` if there is
  // one. Valid as long as those frames are retained; slots that are added meanwhile do no harm.
  kernels::AttentionPast past(int64_t layer, Branch branch, std::span<const int64_t> frames,
                              const std::optional<kernels::HeadMap>& turn = {}) const;

  std::vector<int64_t> frames() const;
  bool has(int64_t frame) const { return slot_of_.contains(frame); }
  // Bytes allocated for slots.
  int64_t bytes() const;

  // Everything stored as named tensors, for a file; back into a new store of the same layout and
  // capacity. Tensors that do not fit are bad input.
  std::map<std::string, at::Tensor> save() const;
  void restore(const std::map<std::string, at::Tensor>& tensors);

 private:
  struct Slots {
    KvSlots key, value;
  };
  KvStore(const KvStore&) = default;  // shares tensors: for clone() alone
  void grow(int64_t slots);
  Slots& slots(int64_t layer, Branch branch);
  const Slots& slots(int64_t layer, Branch branch) const;

  KvLayout layout_;
  bool bounded_;
  int64_t allocated_ = 0;
  std::vector<Slots> main_, camera_;  // per layer; undefined where nothing is kept
  std::map<int64_t, int64_t> slot_of_;
  std::vector<int64_t> free_;  // the last is given next
};

}  // namespace loci::memory
