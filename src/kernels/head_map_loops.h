// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set, by a file compiled for it. Eight lanes by the compiler's
// vector extension: two SSE registers or one of AVX2.
#pragma once

#include "loci/kernels/head_map_kernel.h"

namespace loci::kernels::head_map_kernels {

namespace {

using Lanes = float __attribute__((vector_size(32)));

inline Lanes load(const float* from) {
  Lanes lanes;
  __builtin_memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
inline void store(float* to, const Lanes& lanes) { __builtin_memcpy(to, &lanes, sizeof lanes); }

// y = M x for groups of four channels; column[j] holds M's column j twice.
inline void map_tiles(const float* x, float* y, int64_t tiles, const Lanes (&column)[4]) {
  int64_t t = 0;
  for (; t + 2 <= tiles; t += 2) {
    const Lanes v = load(x + 4 * t);
    Lanes sum = column[0] * __builtin_shufflevector(v, v, 0, 0, 0, 0, 4, 4, 4, 4);
    sum += column[1] * __builtin_shufflevector(v, v, 1, 1, 1, 1, 5, 5, 5, 5);
    sum += column[2] * __builtin_shufflevector(v, v, 2, 2, 2, 2, 6, 6, 6, 6);
    sum += column[3] * __builtin_shufflevector(v, v, 3, 3, 3, 3, 7, 7, 7, 7);
    store(y + 4 * t, sum);
  }
  if (t == tiles) return;
  for (int i = 0; i < 4; ++i) {
    float sum = 0;
    for (int j = 0; j < 4; ++j) sum += column[j][i] * x[4 * t + j];
    y[4 * t + i] = sum;
  }
}

// Pairs of neighbours. c and s hold every pair's cosine twice, and -sine, sine.
inline void turn_adjacent(const float* x, float* y, int64_t pairs, const float* c, const float* s) {
  int64_t i = 0;
  for (; i + 8 <= 2 * pairs; i += 8) {
    const Lanes v = load(x + i);
    const Lanes swapped = __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6);
    store(y + i, v * load(c + i) + swapped * load(s + i));
  }
  for (; i < 2 * pairs; i += 2) {
    const float a = x[i], b = x[i + 1];
    y[i] = a * c[i] + b * s[i];
    y[i + 1] = b * c[i + 1] + a * s[i + 1];
  }
}

inline void turn_halves(const float* x, float* y, int64_t pairs, const float* c, const float* s) {
  for (int64_t i = 0; i < pairs; ++i) {
    const float a = x[i], b = x[pairs + i];
    y[i] = a * c[i] - b * s[i];
    y[pairs + i] = a * s[i] + b * c[i];
  }
}

void run(const Work& work) {
  float* cosine = work.scratch;
  float* sine = work.scratch + 2 * work.pairs;
  const float sign = work.transposed ? -1.0F : 1.0F;
  for (int64_t token = work.begin; token < work.end; ++token) {
    const int64_t row = token % work.period;
    Lanes column[4] = {};
    if (work.tiles > 0) {
      const float* m = work.matrices + 16 * row;
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
          column[j][i] = column[j][i + 4] = work.transposed ? m[4 * j + i] : m[4 * i + j];
        }
      }
    }
    // Tables in the order in which the loops read them, once for all heads.
    int64_t first = 0;
    for (int64_t r = 0; r < work.rotation_count; ++r) {
      const PlaneRotations& rotation = work.rotations[r];
      const float* c = work.cosine + row * work.pairs + first;
      const float* s = work.sine + row * work.pairs + first;
      for (int64_t i = 0; i < rotation.pairs; ++i) {
        if (rotation.adjacent) {
          cosine[2 * (first + i)] = cosine[2 * (first + i) + 1] = c[i];
          sine[2 * (first + i)] = -sign * s[i];
          sine[2 * (first + i) + 1] = sign * s[i];
        } else {
          cosine[2 * first + i] = c[i];
          sine[2 * first + i] = sign * s[i];
        }
      }
      first += rotation.pairs;
    }
    for (int64_t head = 0; head < work.heads; ++head) {
      const int64_t offset = (token * work.heads + head) * work.channels;
      const float* x = work.x + offset;
      float* y = work.y + offset;
      __builtin_memcpy(y, x, static_cast<uint64_t>(work.channels) * sizeof(float));
      if (work.tiles > 0) map_tiles(x + work.tiles_begin, y + work.tiles_begin, work.tiles, column);
      first = 0;
      for (int64_t r = 0; r < work.rotation_count; ++r) {
        const PlaneRotations& rotation = work.rotations[r];
        const float* c = cosine + 2 * first;
        const float* s = sine + 2 * first;
        if (rotation.adjacent) {
          turn_adjacent(x + rotation.begin, y + rotation.begin, rotation.pairs, c, s);
        } else {
          turn_halves(x + rotation.begin, y + rotation.begin, rotation.pairs, c, s);
        }
        first += rotation.pairs;
      }
    }
  }
}

}  // namespace

}  // namespace loci::kernels::head_map_kernels
