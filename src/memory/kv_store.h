// SPDX-License-Identifier: Apache-2.0
// Keys and values of past frames, for every layer and both attention branches.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::memory {

enum class Branch { kMain, kCamera };

// Sizes that hold for the whole life of a store.
struct KvLayout {
  int64_t batch = 1;
  int64_t tokens = 0;  // per latent frame
  int64_t heads = 0;
  int64_t camera_heads = 0;
  int64_t channels = 0;
  std::vector<bool> main_layers;  // per layer: whether its main branch keeps history
  at::ScalarType dtype = at::kFloat;

  int64_t layers() const { return static_cast<int64_t>(main_layers.size()); }
  // Bytes of one latent frame over all layers and branches.
  int64_t frame_bytes() const;
};

// Frames live in slots that are reused when a frame is forgotten. With a capacity, everything is
// allocated once and memory never grows; without, slots are added as the stream goes on.
class KvStore {
 public:
  // `capacity` in frames; 0 = grows.
  KvStore(KvLayout layout, int64_t capacity);

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

  struct Entry {
    at::Tensor key, value;  // [B, frames*T, H, D]
  };
  // Frames (ascending, all present) side by side.
  Entry gather(int64_t layer, Branch branch, std::span<const int64_t> frames) const;

  std::vector<int64_t> frames() const;
  bool has(int64_t frame) const { return slot_of_.contains(frame); }
  // Bytes allocated for slots.
  int64_t bytes() const;

 private:
  struct Slots {
    at::Tensor key, value;  // [slots, B, T, H, D]
  };
  void grow(int64_t slots);
  Slots& slots(int64_t layer, Branch branch);
  const Slots& slots(int64_t layer, Branch branch) const;

  KvLayout layout_;
  bool bounded_;
  int64_t allocated_ = 0;
  std::vector<Slots> main_, camera_;  // per layer; undefined where nothing is kept
  std::map<int64_t, int64_t> slot_of_;
  std::vector<int64_t> free_;
};

}  // namespace loci::memory
