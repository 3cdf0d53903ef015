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

// Tokens [begin, end) of contiguous FP32 arrays.
struct Work {
  const float* x;  // [tokens, heads, channels]
  float* y;
  int64_t begin, end;
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
  float* scratch;  // 4 * pairs
};

void plain(const Work& work);
void avx2(const Work& work);

}  // namespace head_map_kernels
}  // namespace loci::kernels
