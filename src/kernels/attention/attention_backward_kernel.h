// SPDX-License-Identifier: Apache-2.0
// The interface of the loops for the gradient of attention, see machine/kernel_table.h.
#pragma once

#include <cstdint>

#include "loci/kernels/elementwise/head_map_kernel.h"

namespace loci::kernels::attention_backward_kernels {

// Number of queries and keys of one block: multiples of the tile sizes of every level. The scratch
// memory of a block (580 KB for 128 channels) fits the L2 cache.
inline constexpr int64_t kQueryBlock = 120;
inline constexpr int64_t kKeyBlock = 96;
// Padding of rows in scratch memory. Rows of exactly 512 bytes would map to few sets of the L1
// cache.
inline constexpr int64_t kRowGap = 16;

// Queries [begin, end) and the tokens whose keys they attend to. The first `rotated` keys are
// rotated first, with tables [rotated, pairs].
struct Span {
  int64_t begin, end;
  const int64_t* keys;
  int64_t key_count, rotated;
  const PlaneRotations* rotations;
  int64_t rotation_count, pairs;
  const float* cosine;
  const float* sine;
  const float* minus_sine;
};

// One sample and head of contiguous FP32 arrays. No query is in two spans.
struct Work {
  const float* query;  // [batch, query_tokens, heads, channels]
  const float* key;    // [batch, key_tokens, heads, channels]
  const float* value;
  const float* out;  // like query
  const float* grad_out;
  const float* log_sum;  // [batch, heads, query_tokens]: ln of the sum of exponentials
  float* grad_query;
  float* grad_key;  // gradients of keys and values are added
  float* grad_value;
  int64_t query_tokens, key_tokens, heads, channels;
  float scale;
  const Span* spans;
  int64_t span_count;
  int64_t sample, head;
  float* scratch;  // scratch_size(channels), or pair_scratch_size(channels) for BF16 pairs
};

// Scratch memory of one call of the FP32 loops, in floats.
constexpr int64_t scratch_size(int64_t channels) {
  const int64_t row = channels + kRowGap, weights = kKeyBlock + kRowGap;
  return (3 * kQueryBlock + 4 * kKeyBlock) * row + 2 * channels * weights +
         2 * kQueryBlock * weights + 2 * kQueryBlock + 64;
}
// Scratch memory of one call of the BF16 pair loops, in words of four bytes.
constexpr int64_t pair_scratch_size(int64_t channels) {
  const int64_t row = channels + kRowGap, half_row = channels / 2 + kRowGap;
  const int64_t weights = kKeyBlock + kRowGap, half_weights = kKeyBlock / 2 + kRowGap;
  return (2 * kQueryBlock + 2 * kKeyBlock + kKeyBlock / 2 + 2) * row +
         2 * (kQueryBlock + kKeyBlock) * half_row + channels * weights + 3 * kQueryBlock * weights +
         kQueryBlock * half_weights + 2 * kQueryBlock + 64;
}

struct Kernels {
  void (*fp32)(const Work& work);
  void (*bf16)(const Work& work);  // for inputs that were BF16; may round them to BF16 again
};

}  // namespace loci::kernels::attention_backward_kernels
