// SPDX-License-Identifier: Apache-2.0
// The inputs of a forward pass besides its latents: the keys that its chunks may attend to, the
// states and keys that it reads and writes, and its observers. A training window and a streamed
// chunk differ only in these.
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

#include "loci/memory/history/history_planner.h"
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
  // Rotates their keys from their own times to the planned key times; none if the times are equal.
  std::optional<kernels::HeadMap> rotation;
  // Whether the chunk is written to the recurrent states. Every chunk reads them.
  bool written = true;
};

// Frame 0 alone, then chunks of `chunk_size` frames; every chunk attends to all earlier frames.
std::vector<ChunkSpan> window_chunks(int64_t frames, int64_t chunk_size);
// Chunks of `chunk_size` frames from the first frame on; the last may have fewer. Every chunk
// attends to all earlier frames.
std::vector<ChunkSpan> even_chunks(int64_t frames, int64_t chunk_size);
// The same chunks, each attending to the frames that the planner makes visible. The planner has no
// past yet; all frames count as recorded. One camera per latent frame.
std::vector<ChunkSpan> planned_chunks(memory::HistoryPlanner planner, int64_t chunk_size,
                                      int64_t tokens_per_frame,
                                      std::span<const camera::Camera> cameras);

// The rotation of keys from their own times to their key times, for frames of `tokens_per_frame`
// tokens; none if no key moves.
std::optional<kernels::HeadMap> key_rotation(const memory::VisibleHistory& visible,
                                             int64_t tokens_per_frame);

// The layout of a store for frames of `tokens` tokens.
memory::KvLayout kv_layout(const TransformerConfig& config, int64_t batch, int64_t tokens,
                           at::ScalarType dtype);

// Keys and values of a chunk's visible history in a store. Values are read from their slots.
// Mapped keys are laid out once for all denoising steps of the chunk, within the store's staging
// limit; keys beyond the limit are mapped at every use.
class PastKeys {
 public:
  PastKeys() = default;
  // The store must outlive this object and keep the visible frames.
  PastKeys(const memory::KvStore& store, const memory::VisibleHistory& visible);
  // With `key_map` instead of the rotation to the key times, for a store of raw keys.
  PastKeys(const memory::KvStore& store, const memory::VisibleHistory& visible,
           std::optional<kernels::HeadMap> key_map);

  // Null if the layer keeps no history in this branch or the visible history is empty.
  std::shared_ptr<const kernels::AttentionPast> entry(int64_t layer, memory::Branch branch) const;

  // Bytes held in addition to the store.
  int64_t staged_bytes() const { return staged_bytes_; }

 private:
  using Entry = std::shared_ptr<const kernels::AttentionPast>;
  Entry load(int64_t layer, memory::Branch branch) const;

  const memory::KvStore* store_ = nullptr;
  std::vector<int64_t> frames_;
  std::optional<kernels::HeadMap> key_map_;
  std::map<std::pair<int64_t, memory::Branch>, Entry> staged_;
  int64_t staged_bytes_ = 0;
};

// Text keys and values per layer, computed once per prompt.
struct TextKeys {
  struct Entry {
    at::Tensor key, value;  // [B, L, H, 128]
  };
  std::vector<Entry> layers;
};

// Keys and values per layer, main branch, that do not change during the denoising of a chunk: of
// tokens that are not updated and ask nothing.
struct FixedKeys {
  struct Entry {
    at::Tensor key, value;  // [B, n, H, 128], mapped
  };
  std::vector<Entry> layers;
  // Adds the keys of `other` behind these.
  void append(const FixedKeys& other);
};

// The keys that the chunks of a pass attend to. Read-only during the pass. The pointed-to objects
// must outlive the pass and, if blocks are checkpointed, the backward pass.
struct Visibility {
  const TokenMaps* maps = nullptr;  // geometry and times of all frames of the input
  const TextKeys* text = nullptr;
  std::vector<ChunkSpan> chunks;     // cover the frames of the input in order
  const PastKeys* past = nullptr;    // frames before the input; only with a single chunk
  const FixedKeys* fixed = nullptr;  // seen by all queries; only with a single chunk
  at::Tensor hidden;                 // [N] bool, tokens whose keys no query sees; undefined: none
  // Frames of the input whose tokens get no text.
  std::vector<int64_t> frames_without_text;
  at::Tensor added;  // [N, width], added to the embeddings of the tokens; undefined: zero
};

// Inputs of some models besides latents and timesteps. Undefined: none.
struct Conditions {
  // [B, F], the timesteps to which the denoising steps lead; undefined: the timesteps themselves.
  at::Tensor target_timesteps;
  at::Tensor actions;      // [B, F, action_dim]
  at::Tensor embodiments;  // [B] integers
};

// Use of the readout of recurrent states at inference.
enum class Readout {
  kOn,
  kOff,     // readouts count as zero
  kRandom,  // random directions of the same length, per token and head
};

// The recurrent states and the key-value store that a pass reads and writes.
struct StateAccess {
  // By layer: before the pass the state before the input, after it the state after the last written
  // chunk. Undefined for a zero state and for softmax layers. Tensors are replaced, not modified.
  std::vector<at::Tensor> states;
  // Whether the last chunk is written to the states. Denoising steps do not need it.
  bool write_states = true;
  // Receives the keys and values of the input's frames, which get the indices from `store_first`
  // on; null = nothing is stored. The store has slots for these frames.
  memory::KvStore* store = nullptr;
  int64_t store_first = 0;
  Readout readout = Readout::kOn;
  uint64_t readout_seed = 0;  // for Readout::kRandom
};

// Mean keys and queries of each frame's tokens in one layer, before rotary encoding.
struct ContentProbe {
  int64_t layer = 0;
  at::Tensor key, query;  // [B, F, H, 128] FP32, filled by the forward pass
};

// The inputs of a hybrid layer's state.
struct RecurrentInputs {
  at::Tensor h;           // [B, N, width], the block's modulated input
  at::Tensor query, key;  // [B, N, H, 128] before phi and the camera's maps
  // [B, N, H, 128] after phi and the maps, and [B, N, H]; undefined if nothing is written.
  at::Tensor state_key, beta;
};
using OnRecurrent = std::function<void(int64_t layer, const RecurrentInputs& inputs)>;

// Log retention [B, n, H, 128] of a hybrid layer, see memory::ChunkWrite.
using OnRetention = std::function<void(int64_t layer, const at::Tensor& log_retention)>;

// Queries and keys [B, N, H, 128] of a softmax layer, rotated, and the past that they attend to
// (null if there is none).
using OnAttention = std::function<void(int64_t layer, const at::Tensor& query,
                                       const at::Tensor& key, const kernels::AttentionPast* past)>;

// Receive intermediate values. Observers are called once per layer and forward pass, in the order
// of the layers, on the calling thread; the recomputation of checkpointed blocks in the backward
// pass does not call them. They do not change the result.
struct Observers {
  ContentProbe* probe = nullptr;
  std::vector<at::Tensor>* block_outputs = nullptr;  // appended: [B, N, width] per block
  OnRecurrent on_recurrent;
  OnRetention on_retention;
  OnAttention on_attention;
};

struct ForwardContext {
  Visibility visible;
  StateAccess memory;
  Conditions conditions;
  Observers observers;
  // Recompute each block in the backward pass instead of keeping its activations.
  bool checkpoint_blocks = false;
};

}  // namespace loci::model
