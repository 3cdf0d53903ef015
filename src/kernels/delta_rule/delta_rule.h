// SPDX-License-Identifier: Apache-2.0
// The delta rule updates a state S [keys x values] with one token after another:
//   S ← S + β k (v - Sᵀk)ᵀ.
// A sequence of tokens is a triangular system. It is solved in blocks to bound the memory.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::kernels {

// Writes N tokens in order. G = batch * heads.
//   state [G, K, V], key [G, N, K], value [G, N, V], beta [G, N] → new state [G, K, V]
// For a block of tokens, U = (I + tril(diag(β) K Kᵀ, -1))⁻¹ diag(β) (V - K S) and S ← S + Kᵀ U,
// which equals the loop over single tokens. FP32 or FP64; differentiable in every argument.
at::Tensor delta_write(const at::Tensor& state, const at::Tensor& key, const at::Tensor& value,
                       const at::Tensor& beta);

// The same with libtorch's operators, for every type and device: the fallback of delta_write() and
// the reference of the tests.
at::Tensor delta_write_by_libtorch(const at::Tensor& state, const at::Tensor& key,
                                   const at::Tensor& value, const at::Tensor& beta);

// The end of each chunk of tokens, and whether the last chunk is written.
struct DeltaChunks {
  std::vector<int64_t> ends;
  bool write_last = true;
};

struct DeltaPass {
  at::Tensor read;   // [B, N, H, V]; undefined without queries
  at::Tensor state;  // [B, H, K, V] after the last chunk that is written
};

// For one chunk after another: its tokens read Sᵀq * read_scale, then the state decays,
// S ← diag(retention) S, then its tokens are written.
//   state [B, H, K, V], query (may be undefined) and key [B, N, H, K], value [B, N, H, V],
//   beta [B, N, H], retention [B, C, H, K] for the C written chunks (undefined: no decay)
// FP32 or FP64; differentiable in every tensor.
DeltaPass delta_chunks(const at::Tensor& state, const at::Tensor& query, const at::Tensor& key,
                       const at::Tensor& value, const at::Tensor& beta, const at::Tensor& retention,
                       const DeltaChunks& chunks, double read_scale);

DeltaPass delta_chunks_by_libtorch(const at::Tensor& state, const at::Tensor& query,
                                   const at::Tensor& key, const at::Tensor& value,
                                   const at::Tensor& beta, const at::Tensor& retention,
                                   const DeltaChunks& chunks, double read_scale);

// delta_write() with a decay of the state before every token: S ← diag(exp g_t) S, then the update.
// log_decay [G, N, K] holds g; every element is in [kMinLogDecay, 0].
at::Tensor decayed_delta_write(const at::Tensor& state, const at::Tensor& key,
                               const at::Tensor& value, const at::Tensor& beta,
                               const at::Tensor& log_decay);

// exp(±16 * kMinLogDecay) is within the range of FP32, so blocks of 16 tokens need no rescaling.
inline constexpr double kMinLogDecay = -2.5;

}  // namespace loci::kernels
