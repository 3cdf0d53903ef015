// SPDX-License-Identifier: Apache-2.0
// The delta rule: a state S [keys x values] is corrected towards each value in turn,
//   S ← S + β k (v - Sᵀk)ᵀ.
// A run of tokens is one triangular system, solved in blocks so that memory stays bounded.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::kernels {

// Writes N tokens in order. G = batch x heads.
//   state [G, K, V], key [G, N, K], value [G, N, V], beta [G, N] → new state [G, K, V]
// Within a block of tokens U = (I + tril(diag(β) K Kᵀ, -1))⁻¹ diag(β) (V - K S) and S ← S + Kᵀ U,
// which equals the token-by-token loop. FP32 or FP64; differentiable in every argument.
at::Tensor delta_write(const at::Tensor& state, const at::Tensor& key, const at::Tensor& value,
                       const at::Tensor& beta);

// The same by libtorch alone, for every type and device: what delta_write() falls back on, and what
// tests hold it to.
at::Tensor delta_write_by_libtorch(const at::Tensor& state, const at::Tensor& key,
                                   const at::Tensor& value, const at::Tensor& beta);

// How tokens divide into chunks: where each one ends, and whether the last one is written.
struct DeltaChunks {
  std::vector<int64_t> ends;
  bool write_last = true;
};

struct DeltaPass {
  at::Tensor read;   // [B, N, H, V]; undefined without queries
  at::Tensor state;  // [B, H, K, V] after the last chunk that is written
};

// Chunk after chunk: its tokens read Sᵀq * read_scale, then the state fades, S ← diag(retention) S,
// and they are written.
//   state [B, H, K, V], query (may be undefined) and key [B, N, H, K], value [B, N, H, V],
//   beta [B, N, H], retention [B, C, H, K] for the C chunks that are written (undefined: none
//   fades)
// FP32 or FP64; differentiable in every tensor.
DeltaPass delta_chunks(const at::Tensor& state, const at::Tensor& query, const at::Tensor& key,
                       const at::Tensor& value, const at::Tensor& beta, const at::Tensor& retention,
                       const DeltaChunks& chunks, double read_scale);

DeltaPass delta_chunks_by_libtorch(const at::Tensor& state, const at::Tensor& query,
                                   const at::Tensor& key, const at::Tensor& value,
                                   const at::Tensor& beta, const at::Tensor& retention,
                                   const DeltaChunks& chunks, double read_scale);

// delta_write() with a decay of the state's key channels before every token: S ← diag(exp g_t) S,
// then the correction. log_decay [G, N, K], every element <= 0 and >= kMinLogDecay.
at::Tensor decayed_delta_write(const at::Tensor& state, const at::Tensor& key,
                               const at::Tensor& value, const at::Tensor& beta,
                               const at::Tensor& log_decay);

// exp(±16 * kMinLogDecay) stays inside FP32's range: blocks of 16 tokens need no rescaling.
inline constexpr double kMinLogDecay = -2.5;

}  // namespace loci::kernels
