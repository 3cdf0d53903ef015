// SPDX-License-Identifier: Apache-2.0
// What a forward pass is given beside its latents: how its frames divide into chunks, what each
// chunk may see of the past, and where new keys, values and states go. A training window and a
// streamed chunk differ only in this.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/memory/kv/kv_store.h"
#include "loci/model/transformer/config.h"
#include "loci/model/transformer/token_maps.h"

namespace loci::model {

// Frames [begin, end) of the input that form one chunk.
struct ChunkSpan {
  int64_t begin = 0;
  int64_t end = 0;
  // Earlier frames of the same input that the chunk attends to, ascending.
  std::vector<int64_t> earlier;
  // Turns their keys from their own to their compact time; empty when they keep their own.
  kernels::HeadMap turn;
  bool turned = false;
  // Otherwise it reads the recurrent states and leaves them as they are.
  bool written = true;

  // Whether `earlier` is exactly [0, begin), which needs no gathering.
  bool sees_prefix() const { return static_cast<int64_t>(earlier.size()) == begin; }
};

// Frame 0 alone, then chunks of `chunk_size`; every chunk sees all frames before it.
std::vector<ChunkSpan> window_chunks(int64_t frames, int64_t chunk_size);

// What a store keeps of every frame of `tokens` tokens.
memory::KvLayout kv_layout(const TransformerConfig& config, int64_t batch, int64_t tokens,
                           at::ScalarType dtype);

// History from a store: values are read in their slots; keys that change their time are laid out
// once for all steps of a chunk, as far as the store's staging limit allows, and beyond it whenever
// they are used.
class PastKeys {
 public:
  PastKeys() = default;
  // `frames` (ascending) from the store; their keys, written at their own frame number as time, are
  // turned to key_times. The store must outlive this, and keep those frames.
  PastKeys(const memory::KvStore& store, std::vector<int64_t> frames,
           std::span<const double> key_times);

  // Null where the layer keeps none, or where the history is empty.
  std::shared_ptr<const kernels::AttentionPast> entry(int64_t layer, memory::Branch branch) const;

  // Bytes held for the chunk beside the store itself.
  int64_t staged_bytes() const { return staged_bytes_; }

 private:
  using Entry = std::shared_ptr<const kernels::AttentionPast>;
  Entry load(int64_t layer, memory::Branch branch) const;

  const memory::KvStore* store_ = nullptr;
  std::vector<int64_t> frames_;
  std::optional<kernels::HeadMap> turn_;
  std::map<std::pair<int64_t, memory::Branch>, Entry> staged_;
  int64_t staged_bytes_ = 0;
};

// Key times of `count` retained frames before a chunk that starts at `start`: start-count, ….
std::vector<double> compact_times(int64_t start, int64_t count);

// Text keys and values per layer, built once per prompt.
struct TextKeys {
  struct Entry {
    at::Tensor key, value;  // [B, L, H, 128]
  };
  std::vector<Entry> layers;
};

// The paper's switches of the recurrent readout at inference.
enum class Readout {
  kOn,
  kOff,     // reads count as zero
  kRandom,  // random directions of the same length, token by token
};

// What the frames of a chunk show, as one layer sees it: the mean over each frame's tokens of keys
// and queries before their rotary encoding.
struct ContentProbe {
  int64_t layer = 0;
  at::Tensor key, query;  // [B, F, H, 128] FP32, filled by the forward pass
};

// Called by layers that attend to their history, as queries and keys meet: query and key
// [B, N, H, 128] of the input, rotated, and the past beside them (null where there is none).
using OnAttention = std::function<void(int64_t layer, const at::Tensor& query,
                                       const at::Tensor& key, const kernels::AttentionPast* past)>;

// What the state of a hybrid layer is asked and written with.
struct RecurrentInputs {
  at::Tensor h;                // [B, N, width], the block's input
  at::Tensor query, key;       // [B, N, H, 128] before phi and the camera's maps
  at::Tensor state_key, beta;  // [B, N, H, 128] after them, and [B, N, H]; undefined: no writing
};
using OnRecurrent = std::function<void(int64_t layer, const RecurrentInputs& inputs)>;

struct ForwardContext {
  const TokenMaps* maps = nullptr;
  const TextKeys* text = nullptr;
  std::vector<ChunkSpan> chunks;
  const PastKeys* past = nullptr;  // with a single chunk: frames before the input
  // Recurrent states by layer, as of before the input; undefined where zero or not hybrid.
  std::vector<at::Tensor> states;
  // Whether states after the last chunk are computed. Denoising needs none.
  bool write_states = true;
  // Where keys and values of the input's frames are stored, from frame `store_first` on.
  memory::KvStore* store = nullptr;
  int64_t store_first = 0;
  ContentProbe* probe = nullptr;
  Readout readout = Readout::kOn;
  uint64_t readout_seed = 0;  // of Readout::kRandom
  // For looking on: what every block gives, what a hybrid layer's state is asked and written with,
  // every log retention that it uses, and what softmax layers attend with.
  std::vector<at::Tensor>* block_outputs = nullptr;
  OnRecurrent on_recurrent;
  std::function<void(int64_t layer, const at::Tensor& log_retention)> on_retention;
  OnAttention on_attention;
  // Recompute each block in the backward pass instead of keeping its activations.
  bool checkpoint_blocks = false;

  std::shared_ptr<const kernels::AttentionPast> past_entry(int64_t layer,
                                                           memory::Branch branch) const {
    return past == nullptr ? nullptr : past->entry(layer, branch);
  }
};

}  // namespace loci::model
