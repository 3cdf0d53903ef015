// SPDX-License-Identifier: Apache-2.0
// The interface of recurrent memories: a state of fixed size per hybrid block, which a chunk reads
// before it is written. Implementations are stateless. The caller keeps the state as a tensor, so
// that gradients flow through it in training and world files can store it.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/camera/geometry.h"

namespace loci::memory {

// The unit for which a memory takes one row of log retention. The block computes the row from the
// mean of its input over that unit.
enum class Grain { kChunk, kFrame, kToken };

// How the camera geometry maps queries, keys and values of a head.
enum class KeyEncoding {
  kPatch,       // rotations by the patch position only, independent of the camera
  kProjective,  // the camera's projection in 16 channels, and the patch rotations
  kRay,         // rotations by phases of the token's world ray and camera centre (ray_encoding.h)
};

// Values at which the gates of a new branch start.
struct GateStart {
  double beta = 1;         // write strength
  double retention = 0.7;  // per grain
};

// One chunk to write. B batch, F frames of T tokens, N = F*T, H heads, D channels. FP32 (FP64 in
// tests).
struct ChunkWrite {
  at::Tensor key;            // [B, N, H, D] mapped by the camera geometry, unit length
  at::Tensor value;          // [B, N, H, D] mapped by the camera geometry
  at::Tensor beta;           // [B, N, H] write strength in [0, 2)
  at::Tensor log_retention;  // [B, n, H, D] <= 0, n = 1, F or N by the memory's grain
};

// Consecutive chunks with N tokens in total.
struct ChunkSequence {
  std::vector<int64_t> ends;  // end of each chunk in tokens; the last is N
  bool write_last = true;     // false: the last chunk reads and is not written
  at::Tensor query;           // [B, N, H, D]; undefined = no readout
  // All N tokens, and the log retentions of the written chunks one after the other.
  ChunkWrite write;
};

class RecurrentMemory {
 public:
  virtual ~RecurrentMemory() = default;

  // The name under which the memory is registered: `recurrent_memory` in config.json.
  virtual std::string_view name() const = 0;
  virtual Grain grain() const { return Grain::kChunk; }
  // Rows of log retention of a chunk with `tokens` tokens.
  int64_t retention_rows(int64_t tokens, const camera::TokenGrid& grid) const;
  virtual KeyEncoding encoding() const { return KeyEncoding::kProjective; }
  // The defaults of a config's kda_start_beta and kda_start_retention.
  virtual GateStart gate_start() const { return {}; }

  // Shape of the state; the first dimension is the batch. A stream starts with zeros.
  virtual std::vector<int64_t> state_shape(int64_t batch, int64_t heads, int64_t channels,
                                           const camera::TokenGrid& grid) const;

  // The readout of a chunk: query [B, N, H, D] (mapped, unit length) → [B, N, H, D], scaled. The
  // readout of a zero state is zero.
  virtual at::Tensor read(const at::Tensor& state, const at::Tensor& query,
                          const camera::TokenGrid& grid) const;

  // The state after the chunk. Differentiable; `state` itself is not modified. A chunk whose beta
  // and log_retention are zero must leave the state unchanged.
  virtual at::Tensor write(const at::Tensor& state, const ChunkWrite& chunk,
                           const camera::TokenGrid& grid) const = 0;

  // read() and write() of each chunk in order; an implementation may override it with a faster
  // equivalent. Returns all readouts [B, N, H, D] (undefined without queries) and replaces `state`
  // by the state after the last written chunk.
  virtual at::Tensor run(at::Tensor& state, const ChunkSequence& chunks,
                         const camera::TokenGrid& grid) const;
};

// chunk_kda: retention once per chunk, then the delta rule token by token (the paper's memory).
// chunk_kda_no_camera: the same without the camera's projection.
// ray_kda: the same with keys that distinguish rays; writes weakly and forgets little at first.
std::shared_ptr<const RecurrentMemory> make_chunk_kda(KeyEncoding encoding);
// token_kda: retention at every token, as KDA has it for language (ARL²).
std::shared_ptr<const RecurrentMemory> make_token_kda();
// frame_deltanet: all tokens of a latent frame form one step of a gated delta rule (SANA-WM).
std::shared_ptr<const RecurrentMemory> make_frame_deltanet();
// linear: additive state of positive features with a normaliser, no forgetting (Hybrid Forcing).
std::shared_ptr<const RecurrentMemory> make_linear_state();
// ssm: diagonal state-space scan, one state per block of the token grid (Video SSM).
std::shared_ptr<const RecurrentMemory> make_state_space();

// [B, N, H, X] → [B*H, N, X].
at::Tensor fold_heads(const at::Tensor& x);

}  // namespace loci::memory
