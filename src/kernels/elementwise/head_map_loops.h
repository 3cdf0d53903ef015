// SPDX-License-Identifier: Apache-2.0
// The head map with vectors of eight lanes: two SSE registers or one AVX2 register. Compiled once
// per instruction set.
#pragma once

#include "loci/kernels/elementwise/head_map_kernel.h"
#include "loci/kernels/machine/lanes.h"

namespace loci::kernels::head_map_kernels {

namespace {

using Eight = float __attribute__((vector_size(32)));

inline Eight load(const float* from) {
  Eight lanes;
  __builtin_memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
inline void store(float* to, const Eight& lanes) { __builtin_memcpy(to, &lanes, sizeof lanes); }

// y = M x for groups of four channels; y may be x. column[j] holds column j of M twice.
inline void map_tiles(const float* x, float* y, int64_t tiles, const Eight (&column)[4]) {
  int64_t t = 0;
  for (; t + 2 <= tiles; t += 2) {
    const Eight v = load(x + 4 * t);
    Eight sum = column[0] * __builtin_shufflevector(v, v, 0, 0, 0, 0, 4, 4, 4, 4);
    sum += column[1] * __builtin_shufflevector(v, v, 1, 1, 1, 1, 5, 5, 5, 5);
    sum += column[2] * __builtin_shufflevector(v, v, 2, 2, 2, 2, 6, 6, 6, 6);
    sum += column[3] * __builtin_shufflevector(v, v, 3, 3, 3, 3, 7, 7, 7, 7);
    store(y + 4 * t, sum);
  }
  if (t == tiles) return;
  const float v[4] = {x[4 * t], x[4 * t + 1], x[4 * t + 2], x[4 * t + 3]};
  for (int i = 0; i < 4; ++i) {
    float sum = 0;
    for (int j = 0; j < 4; ++j) sum += column[j][i] * v[j];
    y[4 * t + i] = sum;
  }
}

// The same for interleaved tiles and several matrices, which groups of 4 * stride channels use in
// turn. y may be x.
inline void map_tile_groups(const float* x, float* y, const TokenMap& map, const float* matrices) {
  const int64_t stride = map.tile_stride, group = 4 * stride;
  for (int64_t g = 0; g < map.tiles / stride; ++g) {
    const float* m = matrices + 16 * (g % map.tile_matrices);
    for (int64_t r = 0; r < stride; ++r) {
      const float* from = x + g * group + r;
      float* to = y + g * group + r;
      const float v[4] = {from[0], from[stride], from[2 * stride], from[3 * stride]};
      for (int i = 0; i < 4; ++i) {
        float sum = 0;
        for (int j = 0; j < 4; ++j) sum += (map.transposed ? m[4 * j + i] : m[4 * i + j]) * v[j];
        to[i * stride] = sum;
      }
    }
  }
}

// Rotates adjacent pairs; y may be x. For each pair, c holds (cosine, cosine) and s holds (-sine,
// sine).
inline void rotate_adjacent(const float* x, float* y, int64_t pairs, const float* c,
                            const float* s) {
  int64_t i = 0;
  for (; i + 8 <= 2 * pairs; i += 8) {
    const Eight v = load(x + i);
    const Eight swapped = __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6);
    store(y + i, v * load(c + i) + swapped * load(s + i));
  }
  for (; i < 2 * pairs; i += 2) {
    const float a = x[i], b = x[i + 1];
    y[i] = a * c[i] + b * s[i];
    y[i + 1] = b * c[i + 1] + a * s[i + 1];
  }
}

// Rotates pairs (i, pairs + i); y may be x.
inline void rotate_halves(const float* x, float* y, int64_t pairs, const float* c, const float* s) {
  for (int64_t i = 0; i < pairs; ++i) {
    const float a = x[i], b = x[pairs + i];
    y[i] = a * c[i] - b * s[i];
    y[pairs + i] = a * s[i] + b * c[i];
  }
}

// The tables of one token in the order in which the loops read them. The matrices are shared by all
// heads; rotations that differ between heads are loaded by map_head().
struct TokenTables {
  // Of a single matrix without stride.
  Eight column[4] = {};
  float* cosine;  // 2 * pairs
  float* sine;
  int64_t row;

  // `scratch` has space for 4 * pairs.
  TokenTables(const TokenMap& map, int64_t token, float* scratch)
      : cosine(scratch), sine(scratch + 2 * map.pairs), row(token % map.period) {
    if (map.tiles > 0 && map.tile_stride * map.tile_matrices == 1) {
      const float* m = map.matrices + 16 * row;
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
          column[j][i] = column[j][i + 4] = map.transposed ? m[4 * j + i] : m[4 * i + j];
        }
      }
    }
    if (!map.per_head) load_rotations(map, row);
  }

  // `table_row` is the row of the cosine and sine tables.
  void load_rotations(const TokenMap& map, int64_t table_row) {
    const float sign = map.transposed ? -1.0F : 1.0F;
    int64_t first = 0;
    for (int64_t r = 0; r < map.rotation_count; ++r) {
      const PlaneRotations& rotation = map.rotations[r];
      const float* __restrict__ c = map.cosine + table_row * map.pairs + first;
      const float* __restrict__ s = map.sine + table_row * map.pairs + first;
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
  }

  void map_head(const TokenMap& map, int64_t head, const float* x, float* y) {
    if (map.per_head) load_rotations(map, row * map.heads + head);
    __builtin_memcpy(y, x, static_cast<uint64_t>(map.channels) * sizeof(float));
    // The part that applies second reads the result of the first.
    if (map.order == MapOrder::kRotationsFirst) {
      rotate(map, x, y);
      if (map.tiles > 0) map_matrices(map, y, y);
      return;
    }
    if (map.tiles > 0) map_matrices(map, x, y);
    rotate(map, map.order == MapOrder::kDisjoint ? x : y, y);
  }

 private:
  void map_matrices(const TokenMap& map, const float* x, float* y) const {
    if (map.tile_stride * map.tile_matrices == 1) {
      map_tiles(x + map.tiles_begin, y + map.tiles_begin, map.tiles, column);
    } else {
      map_tile_groups(x + map.tiles_begin, y + map.tiles_begin, map,
                      map.matrices + 16 * map.tile_matrices * row);
    }
  }

  void rotate(const TokenMap& map, const float* x, float* y) const {
    int64_t first = 0;
    for (int64_t r = 0; r < map.rotation_count; ++r) {
      const PlaneRotations& rotation = map.rotations[r];
      const float* c = cosine + 2 * first;
      const float* s = sine + 2 * first;
      if (rotation.adjacent) {
        rotate_adjacent(x + rotation.begin, y + rotation.begin, rotation.pairs, c, s);
      } else {
        rotate_halves(x + rotation.begin, y + rotation.begin, rotation.pairs, c, s);
      }
      first += rotation.pairs;
    }
  }
};

using Row = Lanes<8>;

inline float dot(const float* a, const float* b, int64_t channels) {
  Row::Sum sum;
  Row::along(channels, [&](int64_t c, auto part, int i) {
    sum.part[i] += Row::load(a + c, part) * Row::load(b + c, part);
  });
  return sum.total();
}

inline void gate_head(const Work& work, int64_t number, float* y) {
  const int64_t channels = work.map.channels;
  if (work.mapped != nullptr) {
    work.gate_gradient[number] = dot(y, work.mapped + number * channels, channels);
  }
  const float gate = work.gate[number];
  if (work.addend == nullptr) {
    Row::along(channels, [&](int64_t c, auto part, int) {
      Row::store(y + c, Row::load(y + c, part) * gate, part);
    });
    return;
  }
  const float* addend = work.addend + number * channels;
  Row::along(channels, [&](int64_t c, auto part, int) {
    Row::store(y + c, Row::load(addend + c, part) + Row::load(y + c, part) * gate, part);
  });
}

inline void run(const Work& work) {
  const TokenMap& map = work.map;
  float* unscaled = work.scratch + 4 * map.pairs;
  for (int64_t token = work.begin; token < work.end; ++token) {
    TokenTables tables(map, token, work.scratch);
    const float* first = work.x + token / work.sample_tokens * work.sample_step +
                         token % work.sample_tokens * work.token_step;
    for (int64_t head = 0; head < map.heads; ++head) {
      const int64_t number = token * map.heads + head;
      const float* x = first + head * work.head_step;
      float* y = work.y + number * map.channels;
      if (work.units != nullptr) {
        // u = v r with r = 1 / sqrt(|v|² + eps): dL/dv = r (dL/du - u (u·dL/du)).
        const float* u = work.units + number * map.channels;
        const float r = work.unit_inverse_lengths[number];
        const float along_u = dot(x, u, map.channels);
        Row::along(map.channels, [&](int64_t c, auto part, int) {
          Row::store(unscaled + c, (Row::load(x + c, part) - Row::load(u + c, part) * along_u) * r,
                     part);
        });
        x = unscaled;
      }
      tables.map_head(map, head, x, y);
      if (work.gate != nullptr) gate_head(work, number, y);
      if (work.inverse_lengths != nullptr) {
        const float r = 1 / __builtin_sqrtf(dot(y, y, map.channels) + work.eps);
        work.inverse_lengths[number] = r;
        Row::along(map.channels, [&](int64_t c, auto part, int) {
          Row::store(y + c, Row::load(y + c, part) * r, part);
        });
      }
    }
  }
}

}  // namespace

}  // namespace loci::kernels::head_map_kernels
