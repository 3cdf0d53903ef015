// SPDX-License-Identifier: Apache-2.0
// The loop behind head_map(), one per instruction set. Nothing here comes from a library: a
// function of its headers, compiled for one instruction set, could end up serving the whole
// program.
#pragma once

#include <cstdint>

namespace loci::kernels {

// A run of plane rotations: channels (begin+2i, begin+2i+1) when adjacent, otherwise
// (begin+i, begin+pairs+i).
struct PlaneRotations {
  int64_t begin = 0;
  int64_t pairs = 0;
  bool adjacent = false;
};

namespace head_map_kernels {

// A HeadMap for loops, which map the heads of one token at a time.
struct TokenMap {
  int64_t heads, channels;
  int64_t tiles_begin, tiles;
  const PlaneRotations* rotations;
  int64_t rotation_count;
  // Tables of the token modulo `period`, which is the number of tokens they were made for.
  const float* matrices;  // [period, 4, 4]
  const float* cosine;    // [period, pairs]
  const float* sine;
  int64_t period, pairs;
  bool transposed;
};

// Tokens [begin, end) of all samples.
struct Work {
  TokenMap map;
  const float* x;  // [samples, sample_tokens, heads, channels]
  int64_t sample_tokens;
  int64_t sample_step, token_step, head_step;  // of x; channels stand side by side
  float* y;                                    // contiguous
  int64_t begin, end;
  // y becomes y / sqrt(|y|² + eps) head by head, and these [tokens, heads] 1 / sqrt(|y|² + eps).
  float* inverse_lengths;
  float eps;
  // x is the gradient of these units, contiguous like y: what is mapped is the gradient of the
  // vectors they were made from.
  const float *units, *unit_inverse_lengths;
  // Of a map whose result y is gated and added to something, both contiguous: y becomes
  // addend + gate * y. Null: no addend, gate 1.
  const float *addend, *gate;  // [tokens, heads, channels], [tokens, heads]
  // And of its gradient: what was mapped, against which y counts before it is gated.
  const float* mapped;   // [tokens, heads, channels]
  float* gate_gradient;  // [tokens, heads]
  float* scratch;        // 4 * pairs + channels
};

void plain(const Work& work);
void avx2(const Work& work);

}  // namespace head_map_kernels
}  // namespace loci::kernels
