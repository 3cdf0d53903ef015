// SPDX-License-Identifier: Apache-2.0
// The loops behind attention(), one set per instruction set. Nothing here comes from a library: a
// function of its headers, compiled for one instruction set, could end up serving the whole
// program.
#pragma once

#include <cstdint>

#include "loci/kernels/elementwise/head_map_kernel.h"

namespace loci::kernels::attention_kernels {

// Packed keys stand in panels of kPanel, the last one filled up with zeros.
inline constexpr int64_t kPanel = 32;
enum class PanelLayout : int {
  kColumns,  // [channels][kPanel], FP32 or BF16: for loops that compute in FP32
  kPairs,    // [channels / 2][kPanel][2], BF16: for loops that multiply pairs
};
// Keys whose scores are made at once, and queries that share one reading of them.
inline constexpr int64_t kKeyBlock = 128;
inline constexpr int64_t kQueryBlock = 192;

enum class Number : int { kFloat, kBfloat16, kInt8 };

// Rows of `channels` numbers in slots, [slots, batch, tokens, heads, channels]; token t of a
// sequence is token t % tokens of slot index[t / tokens].
struct SlotRows {
  const void* data;
  const float* scale;  // kInt8: one a row, [slots, batch, tokens, heads]
  Number type;
};

// A sequence of keys and values that one call attends to.
struct KeySet {
  SlotRows key, value;
  const int64_t* index;
  int64_t slot_tokens;
  int64_t tokens;  // of the whole sequence
  // Keys of the whole sequence in panels, [batch, heads, panels, ...] in the layout of the loops
  // that read them; null to read the rows.
  const void* panels;
  Number panel_type;
};

// Queries [begin, end) of one sample and head, at most kQueryBlock.
struct Work {
  const void* query;  // [batch, tokens, heads, channels], FP32 or BF16
  void* out;          // likewise
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

// Floats that one call of attend() needs beside its data: what the FP32 loops need, which is more
// than the others do.
constexpr int64_t scratch_size(int64_t channels) {
  return (2 * kQueryBlock + 2 * kKeyBlock + 1) * channels + 16 * kKeyBlock + 17 * kQueryBlock + 64;
}

// Rows of one sample and head into their panels. `to` is the head's part of `panels`.
struct PackWork {
  SlotRows rows;
  const int64_t* index;
  int64_t slot_tokens, tokens, batch, heads, channels;
  int64_t sample, head;
  // Turned while they are read: tables [tokens, pairs], or none.
  const PlaneRotations* rotations;
  int64_t rotation_count, pairs;
  const float* cosine;
  const float* sine;
  void* to;
  Number to_type;
  PanelLayout layout;
};

void attend_plain(const Work& work);
void attend_avx2(const Work& work);
void attend_avx512(const Work& work);
// Of BF16 queries alone, with panels of pairs.
void attend_avx512_bf16(const Work& work);
void attend_amx(const Work& work);
void pack_plain(const PackWork& work);
void pack_avx2(const PackWork& work);
void pack_avx512(const PackWork& work);

}  // namespace loci::kernels::attention_kernels
