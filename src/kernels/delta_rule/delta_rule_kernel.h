// SPDX-License-Identifier: Apache-2.0
// The interface of the loops for the delta rule and its gradient, see machine/kernel_table.h.
#pragma once

#include <cstdint>

namespace loci::kernels::delta_rule_kernels {

// Number of tokens of one triangular system: a multiple of the tile sizes of every level. Measured
// for chunks of 120 and 1,920 tokens. Larger systems cost more than they save by fewer passes over
// the state.
inline constexpr int64_t kBlock = 24;
// Padding of rows in scratch memory. Rows of exactly 512 bytes would map to few sets of the L1
// cache.
inline constexpr int64_t kRowGap = 16;

// Tokens [begin, end) read the state. Then the state is multiplied by `retention`, and the tokens
// are written if `writes`.
struct Chunk {
  int64_t begin, end;
  bool writes;
  const float* retention;  // [keys], may be null
};

// One head of one sample. Token t of an array is at t times the stride. Arrays that are not needed
// are null.
struct Work {
  int64_t keys, values;  // channels
  const Chunk* chunks;
  int64_t chunk_count;
  const float* query;  // [tokens][keys]
  const float* key;
  const float* value;  // [tokens][values]
  const float* beta;   // [tokens]
  int64_t key_stride, value_stride, beta_stride;
  float read_scale;
  const float* state;  // [keys][values], before the first chunk
  // Forward.
  float* read;         // [tokens][values]
  float* error;        // [tokens][values]: v - Sᵀk when the token is written
  float* chunk_state;  // [keys][values] before each chunk, chunk_state_stride apart
  int64_t chunk_state_stride;
  float* end_state;  // after the last chunk
  float* scratch;    // scratch_size()
};

// Additional arrays of the gradient. The Work holds the arrays that the forward pass has filled.
struct Gradients {
  const float* read;       // gradient of each readout; may be null
  const float* end_state;  // [keys][values]
  float* query;
  float* key;
  float* value;
  float* beta;
  float* retention;  // [keys] of each chunk, retention_stride apart
  int64_t retention_stride;
  float* state;
};

// Scratch memory of one forward or backward call, in floats.
constexpr int64_t scratch_size(int64_t keys, int64_t values) {
  const int64_t widest = (keys > values ? keys : values) + kRowGap;
  return 3 * widest * widest + (6 * kBlock + 2 * (kBlock + kRowGap)) * widest + 4 * kBlock * 64;
}

struct Kernels {
  void (*forward)(const Work& work);
  void (*backward)(const Work& work, const Gradients& gradients);
};

}  // namespace loci::kernels::delta_rule_kernels
