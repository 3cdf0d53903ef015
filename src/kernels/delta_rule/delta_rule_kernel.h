// SPDX-License-Identifier: Apache-2.0
// The loops behind the delta rule over chunks and its gradient, one set per instruction set.
#pragma once

#include <cstdint>

namespace loci::kernels::delta_rule_kernels {

// Tokens whose triangular system is solved at once, in whole tiles at every level. Measured for
// chunks of 120 and 1,920 tokens; more make the system cost more than the smaller number of
// passes over the state saves.
inline constexpr int64_t kBlock = 24;
// Added to the length of rows in scratch memory: rows of 512 bytes would share few lines of the
// first cache.
inline constexpr int64_t kRowGap = 16;

// Tokens [begin, end): they read the state, then it fades by `retention` and they are written.
struct Chunk {
  int64_t begin, end;
  bool writes;
  const float* retention;  // [keys], may be null
};

// One head of one sample. Token t of an array stands at t times its stride; null where the array
// is not wanted.
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
  float* error;        // [tokens][values]: v - Sᵀk as each token finds it
  float* chunk_state;  // [keys][values] before every chunk, chunk_state_stride apart
  int64_t chunk_state_stride;
  float* end_state;  // after the last chunk
  float* scratch;    // scratch_size()
};

// What the gradient needs beside: Work with the arrays that the forward pass has filled.
struct Gradients {
  const float* read;       // of each output; may be null
  const float* end_state;  // [keys][values]
  float* query;
  float* key;
  float* value;
  float* beta;
  float* retention;  // [keys] of every chunk, retention_stride apart
  int64_t retention_stride;
  float* state;
};

// Floats that one call needs beside its data, forward or backward.
constexpr int64_t scratch_size(int64_t keys, int64_t values) {
  const int64_t widest = (keys > values ? keys : values) + kRowGap;
  return 3 * widest * widest + (6 * kBlock + 2 * (kBlock + kRowGap)) * widest + 4 * kBlock * 64;
}

void forward_plain(const Work& work);
void forward_avx2(const Work& work);
void forward_avx512(const Work& work);
void backward_plain(const Work& work, const Gradients& gradients);
void backward_avx2(const Work& work, const Gradients& gradients);
void backward_avx512(const Work& work, const Gradients& gradients);

}  // namespace loci::kernels::delta_rule_kernels
