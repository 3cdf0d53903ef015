// SPDX-License-Identifier: Apache-2.0
// The loops behind the gradient of attention, one set per instruction set.
#pragma once

#include <cstdint>

#include "loci/kernels/elementwise/head_map_kernel.h"

namespace loci::kernels::attention_backward_kernels {

// Queries and keys that meet at once, in whole tiles at every level: what a block needs (580 KB at
// 128 channels) fits the second cache.
inline constexpr int64_t kQueryBlock = 120;
inline constexpr int64_t kKeyBlock = 96;
// Added to the length of rows in scratch memory: rows of 512 bytes would share few lines of the
// first cache.
inline constexpr int64_t kRowGap = 16;

// Queries [begin, end) and the tokens whose keys they see. The first `turned` keys are rotated
// before they are used, by tables [turned, pairs].
struct Span {
  int64_t begin, end;
  const int64_t* keys;
  int64_t key_count, turned;
  const PlaneRotations* rotations;
  int64_t rotation_count, pairs;
  const float* cosine;
  const float* sine;
  const float* minus_sine;
};

// One sample and head of contiguous FP32 arrays; no query is in two spans.
struct Work {
  const float* query;  // [batch, query_tokens, heads, channels]
  const float* key;    // [batch, key_tokens, heads, channels]
  const float* value;
  const float* out;  // like query
  const float* grad_out;
  const float* log_sum;  // [batch, heads, query_tokens]: ln of the sum of exponentials
  float* grad_query;
  float* grad_key;  // added to
  float* grad_value;
  int64_t query_tokens, key_tokens, heads, channels;
  float scale;
  const Span* spans;
  int64_t span_count;
  int64_t sample, head;
  float* scratch;  // scratch_size(channels), pair_scratch_size(channels) for BF16 pairs
};

// Floats that one call of loops in FP32 needs beside its data.
constexpr int64_t scratch_size(int64_t channels) {
  const int64_t row = channels + kRowGap, weights = kKeyBlock + kRowGap;
  return (3 * kQueryBlock + 4 * kKeyBlock) * row + 2 * channels * weights +
         2 * kQueryBlock * weights + 2 * kQueryBlock + 64;
}
// The same, in words of four bytes, for loops of BF16 pairs.
constexpr int64_t pair_scratch_size(int64_t channels) {
  const int64_t row = channels + kRowGap, half_row = channels / 2 + kRowGap;
  const int64_t weights = kKeyBlock + kRowGap, half_weights = kKeyBlock / 2 + kRowGap;
  return (2 * kQueryBlock + 2 * kKeyBlock + kKeyBlock / 2 + 2) * row +
         2 * (kQueryBlock + kKeyBlock) * half_row + channels * weights + 3 * kQueryBlock * weights +
         kQueryBlock * half_weights + 2 * kQueryBlock + 64;
}

void backward_plain(const Work& work);
void backward_avx2(const Work& work);
void backward_avx512(const Work& work);
void backward_avx512_bf16(const Work& work);  // rounds its input to BF16

}  // namespace loci::kernels::attention_backward_kernels
