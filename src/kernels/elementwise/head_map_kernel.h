// SPDX-License-Identifier: Apache-2.0
// The interface of the head map loop, see machine/kernel_table.h.
#pragma once

#include <cstdint>

namespace loci::kernels {

// Rotations of channel pairs: (begin+2i, begin+2i+1) if adjacent, otherwise (begin+i,
// begin+pairs+i).
struct PlaneRotations {
  int64_t begin = 0;
  int64_t pairs = 0;
  bool adjacent = false;
};

// The order of the parts of a map.
enum class MapOrder { kDisjoint, kRotationsFirst, kTilesFirst };

namespace head_map_kernels {

// A HeadMap as the loops read it.
struct TokenMap {
  int64_t heads, channels;
  int64_t tiles_begin, tiles;
  const PlaneRotations* rotations;
  int64_t rotation_count;
  int64_t tile_stride, tile_matrices;
  MapOrder order;  // of the map that is applied, also if `transposed`
  // The tables have `period` rows; token t uses row t % period.
  const float* matrices;  // [period, tile_matrices, 4, 4]
  const float* cosine;    // [period, pairs]; with per_head [period, heads, pairs]
  const float* sine;
  int64_t period, pairs;
  bool per_head;
  bool transposed;
};

// Tokens [begin, end) of all samples.
struct Work {
  TokenMap map;
  const float* x;  // [samples, sample_tokens, heads, channels]
  int64_t sample_tokens;
  int64_t sample_step, token_step, head_step;  // strides of x; channels are contiguous
  float* y;                                    // contiguous
  int64_t begin, end;
  // If not null, each head of y is divided by sqrt(|y|² + eps), and 1 / sqrt(|y|² + eps) is stored
  // here, [tokens, heads].
  float* inverse_lengths;
  float eps;
  // If not null, x is the gradient of these unit vectors (contiguous like y). The loop first
  // computes the gradient of the vectors before normalization, then maps it.
  const float *units, *unit_inverse_lengths;
  // If not null, y becomes addend + gate * y. Both are contiguous. Null: no addend, gate 1.
  const float *addend, *gate;  // [tokens, heads, channels], [tokens, heads]
  // For the gradient of a gated map: gate_gradient is the dot product of `mapped`, the input of the
  // forward map, with y before the gate.
  const float* mapped;   // [tokens, heads, channels]
  float* gate_gradient;  // [tokens, heads]
  float* scratch;        // 4 * pairs + channels
};

struct Kernels {
  void (*run)(const Work& work);
};

}  // namespace head_map_kernels
}  // namespace loci::kernels
