// SPDX-License-Identifier: Apache-2.0
// The recurrent memory of a hybrid block: a fixed-size state that a chunk reads before it is
// written. Implementations are stateless: the state is a tensor that the caller keeps, so training
// carries it through autograd and streaming stores it in a world.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/camera/geometry.h"

namespace loci::memory {

// At which grain a memory wants its log retention: the block computes it from the mean of its
// input over that grain.
enum class Grain { kChunk, kFrame, kToken };

// One chunk as a block gives it to its memory. B batch, F frames of T tokens, N = F*T, H heads,
// D channels. FP32 (FP64 in tests).
struct ChunkWrite {
  at::Tensor key;            // [B, N, H, D] mapped by the geometry, unit length
  at::Tensor value;          // [B, N, H, D] mapped by the geometry
  at::Tensor beta;           // [B, N, H] in (0, 2)
  at::Tensor log_retention;  // [B, n, H, D] <= 0, n = 1, F or N by the memory's grain
};

// Chunks that follow each other, for all of them at once: N tokens together.
struct ChunkSequence {
  std::vector<int64_t> ends;  // of each chunk, in tokens; the last is N
  bool write_last = true;     // otherwise the last chunk only reads
  at::Tensor query;           // [B, N, H, D]; undefined where nothing is read
  // All N tokens; log retentions of the chunks that are written, one after the other.
  ChunkWrite write;
};

class RecurrentMemory {
 public:
  virtual ~RecurrentMemory() = default;

  // The value of `recurrent_memory` in config.json.
  virtual std::string_view name() const = 0;
  virtual Grain grain() const { return Grain::kChunk; }
  // Rows of log retention that a chunk of so many tokens has.
  int64_t retention_rows(int64_t tokens, const camera::TokenGrid& grid) const;
  // Whether queries, keys and values are conditioned on the camera's projection.
  virtual bool projective() const { return true; }

  // Shape of the state for a batch: the first dimension is the batch. A new stream starts at zero.
  virtual std::vector<int64_t> state_shape(int64_t batch, int64_t heads, int64_t channels,
                                           const camera::TokenGrid& grid) const;

  // What the tokens of a chunk read: query [B, N, H, D] (mapped, unit length) → [B, N, H, D],
  // already scaled. A zero state reads zero.
  virtual at::Tensor read(const at::Tensor& state, const at::Tensor& query,
                          const camera::TokenGrid& grid) const;

  // The state after the chunk. Differentiable; the given state is not changed.
  virtual at::Tensor write(const at::Tensor& state, const ChunkWrite& chunk,
                           const camera::TokenGrid& grid) const = 0;

  // Each chunk reads, then is written: the same as read() and write() in turn, which is how it is
  // done where an implementation knows nothing better. Returns all reads [B, N, H, D], undefined
  // without queries, and replaces `state` by the one after the last chunk that is written.
  virtual at::Tensor run(at::Tensor& state, const ChunkSequence& chunks,
                         const camera::TokenGrid& grid) const;
};

// Names accepted by make_recurrent_memory, "none" included.
const std::vector<std::string>& recurrent_memory_names();

// Null for "none": the block keeps its history and attends to it like a softmax block.
std::shared_ptr<const RecurrentMemory> make_recurrent_memory(const std::string& name);

// One function per implementation, each in a file of its own.
//
// chunk_kda: retention once a chunk, delta rule token by token (the paper's).
// chunk_kda_no_camera: the same without the projective tiles.
std::shared_ptr<const RecurrentMemory> make_chunk_kda(bool projective);
// token_kda: retention at every token, as KDA has it for language (ARL²).
std::shared_ptr<const RecurrentMemory> make_token_kda();
// frame_deltanet: all tokens of a latent frame form one step of a gated delta rule (SANA-WM).
std::shared_ptr<const RecurrentMemory> make_frame_deltanet();
// linear: additive state of positive features with a normaliser, no forgetting (Hybrid Forcing).
std::shared_ptr<const RecurrentMemory> make_linear_state();
// ssm: diagonal state-space scan, one state for each block of the token grid (Video SSM).
std::shared_ptr<const RecurrentMemory> make_state_space();

// [B, N, H, X] → [B*H, N, X] and back.
at::Tensor fold_heads(const at::Tensor& x);
at::Tensor unfold_heads(const at::Tensor& x, int64_t batch);

}  // namespace loci::memory
