// SPDX-License-Identifier: Apache-2.0
// The interface of the attention loops, see machine/kernel_table.h.
#pragma once

#include <cstdint>

#include "loci/kernels/elementwise/head_map_kernel.h"

namespace loci::kernels::attention_kernels {

// Keys are packed in panels of kPanel keys. The last panel is padded with zeros.
inline constexpr int64_t kPanel = 32;
enum class PanelLayout : int {
  kColumns,  // [channels][kPanel], FP32 or BF16: for loops that compute in FP32
  kPairs,    // [channels / 2][kPanel][2], BF16: for loops that multiply BF16 pairs
};
// Number of keys whose scores are computed together, and number of queries that share one pass over
// the keys.
inline constexpr int64_t kKeyBlock = 128;
inline constexpr int64_t kQueryBlock = 192;

enum class Number : int { kFloat, kBfloat16, kInt8 };

// Rows of `channels` numbers in slots, [slots, batch, tokens, heads, channels]. Token t of a
// sequence is token t % tokens of slot index[t / tokens].
struct SlotRows {
  const void* data;
  const float* scale;  // kInt8: one per row, [slots, batch, tokens, heads]
  Number type;
};

// A sequence of keys and values that one call attends to.
struct KeySet {
  SlotRows key, value;
  const int64_t* index;
  int64_t slot_tokens;
  int64_t tokens;  // of the whole sequence
  // The packed keys of the whole sequence, [batch, heads, panels, ...] in the layout that the loop
  // expects; null: the loop reads `key`.
  const void* panels;
  Number panel_type;
};

// Queries [begin, end) of one sample and head, at most kQueryBlock.
struct Work {
  const void* query;  // [batch, tokens, heads, channels], FP32 or BF16
  void* out;          // as query
  Number type;
  float* log_sum;  // [batch, heads, tokens]: ln of the sum of exponentials; may be null
  int64_t query_tokens, heads, channels, batch;
  const KeySet* sets;
  int64_t set_count;
  float scale;
  int64_t sample, head;
  int64_t begin, end;
  float* scratch;  // scratch_size(channels)
};

// Scratch memory of one call of attend(), in floats. The FP32 loops need the most.
constexpr int64_t scratch_size(int64_t channels) {
  return (2 * kQueryBlock + 2 * kKeyBlock + 1) * channels + 16 * kKeyBlock + 17 * kQueryBlock + 64;
}

// Packs the keys of one sample and head. `to` is the part of the panels that belongs to the head.
struct PackWork {
  SlotRows rows;
  const int64_t* index;
  int64_t slot_tokens, tokens, batch, heads, channels;
  int64_t sample, head;
  // Rotations of the keys with tables [tokens, pairs]; rotation_count 0: none.
  const PlaneRotations* rotations;
  int64_t rotation_count, pairs;
  const float* cosine;
  const float* sine;
  void* to;
  Number to_type;
  PanelLayout layout;
};

// A version of the attention loop, and the layout in which it reads packed keys.
struct Attend {
  void (*attend)(const Work& work);
  PanelLayout layout;
};

struct Kernels {
  Attend fp32;  // FP32 queries
  Attend bf16;  // BF16 queries
  void (*pack)(const PackWork& work);
};

}  // namespace loci::kernels::attention_kernels
