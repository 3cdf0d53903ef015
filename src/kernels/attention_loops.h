// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set, by a file compiled for it that says how many lanes a vector
// has, how many vectors a tile is wide and how many queries high: as many sums as fit registers.
#pragma once

#include "loci/kernels/attention_kernel.h"

namespace loci::kernels::attention_kernels {

namespace {

template <int kLanes>
struct VectorOf;
template <>
struct VectorOf<4> {
  using Floats = float __attribute__((vector_size(16)));
  using Ints = int32_t __attribute__((vector_size(16)));
};
template <>
struct VectorOf<8> {
  using Floats = float __attribute__((vector_size(32)));
  using Ints = int32_t __attribute__((vector_size(32)));
};
template <>
struct VectorOf<16> {
  using Floats = float __attribute__((vector_size(64)));
  using Ints = int32_t __attribute__((vector_size(64)));
};

inline float widen(uint16_t half) {
  const uint32_t bits = static_cast<uint32_t>(half) << 16;
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// Rounds to the nearest, ties to even; what is not a number stays so.
inline uint16_t narrow(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  if (value != value) return 0x7FC0;
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

// `count` numbers from position `offset` as FP32. INT8 numbers are multiplied by `scale`.
inline void read_numbers(const void* data, Number type, int64_t offset, int64_t count, float scale,
                         float* to) {
  switch (type) {
    case Number::kFloat:
      __builtin_memcpy(to, static_cast<const float*>(data) + offset,
                       static_cast<uint64_t>(count) * sizeof(float));
      break;
    case Number::kBfloat16: {
      const uint16_t* from = static_cast<const uint16_t*>(data) + offset;
      for (int64_t i = 0; i < count; ++i) to[i] = widen(from[i]);
      break;
    }
    case Number::kInt8: {
      const int8_t* from = static_cast<const int8_t*>(data) + offset;
      for (int64_t i = 0; i < count; ++i) to[i] = scale * static_cast<float>(from[i]);
      break;
    }
  }
}

// Where rows of one sample and head stand, token by token.
struct RowReader {
  SlotRows rows;
  const int64_t* index;
  int64_t slot_tokens, batch, heads, channels, sample, head;

  void read(int64_t token, float* to) const {
    const int64_t slot = index[token / slot_tokens];
    const int64_t row =
        ((slot * batch + sample) * slot_tokens + token % slot_tokens) * heads + head;
    const float scale = rows.type == Number::kInt8 ? rows.scale[row] : 1.0F;
    read_numbers(rows.data, rows.type, row * channels, channels, scale, to);
  }
};

struct NoTurn {
  void operator()(int64_t, float*) const {}
};

// Tokens [begin, begin + count) into panels at `to`, each after `turn(token, row)`; `row` has space
// for one row. Rows that fill up the last panel are zero.
template <typename Turn>
void fill_panels(const RowReader& reader, int64_t begin, int64_t count, const Turn& turn,
                 float* row, float* to) {
  const int64_t channels = reader.channels;
  const int64_t padded = (count + kPanel - 1) / kPanel * kPanel;
  for (int64_t i = 0; i < padded; ++i) {
    float* column = to + i / kPanel * kPanel * channels + i % kPanel;
    if (i < count) {
      reader.read(begin + i, row);
      turn(begin + i, row);
      for (int64_t c = 0; c < channels; ++c) column[c * kPanel] = row[c];
    } else {
      for (int64_t c = 0; c < channels; ++c) column[c * kPanel] = 0;
    }
  }
}

// kRows queries high and kVectors vectors of kLanes wide.
template <int kLanes, int kVectors, int kRows>
struct Loops {
  using Floats = typename VectorOf<kLanes>::Floats;
  using Ints = typename VectorOf<kLanes>::Ints;
  static constexpr int kColumns = kLanes * kVectors;
  static_assert(kPanel % kColumns == 0 && kQueryBlock % kRows == 0 && kRows <= 16);

  static Floats load(const float* from) {
    Floats lanes;
    __builtin_memcpy(&lanes, from, sizeof lanes);
    return lanes;
  }
  static void store(float* to, const Floats& lanes) { __builtin_memcpy(to, &lanes, sizeof lanes); }

  // 2^x for x <= 0: exact powers times the series of 2^f over half a step to both sides. Very
  // small x counts as -126, so that what is masked leaves a trace of 1e-38 and no infinity.
  static Floats power_of_two(Floats x) {
    const Floats floor = Floats{} - 126.0F;
    x = x < floor ? floor : x;
    const Floats shifter = Floats{} + 12582912.0F;  // 1.5 * 2^23: rounds to whole numbers
    const Floats shifted = x + shifter;
    const Floats f = x - (shifted - shifter);
    Floats sum = Floats{} + 1.5403530393381606e-4F;
    sum = sum * f + 1.3333558146428443e-3F;
    sum = sum * f + 9.6181291076284771e-3F;
    sum = sum * f + 5.5504108664821580e-2F;
    sum = sum * f + 2.4022650695910071e-1F;
    sum = sum * f + 6.9314718055994531e-1F;
    sum = sum * f + 1.0F;
    Ints exponent, bits;
    __builtin_memcpy(&exponent, &shifted, sizeof exponent);
    __builtin_memcpy(&bits, &sum, sizeof bits);
    bits += exponent << 23;  // the low bits of `shifted` are the whole number
    Floats result;
    __builtin_memcpy(&result, &bits, sizeof result);
    return result;
  }

  // Scores of one tile: queries [channels][kRows] times keys [channels][kPanel].
  static void score_tile(const float* query, const float* key, int64_t channels, float* scores) {
    Floats sum[kRows][kVectors] = {};
    for (int64_t c = 0; c < channels; ++c) {
      Floats k[kVectors];
      for (int j = 0; j < kVectors; ++j) k[j] = load(key + c * kPanel + j * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const float q = query[c * kRows + r];
        for (int j = 0; j < kVectors; ++j) sum[r][j] += q * k[j];
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (int j = 0; j < kVectors; ++j) store(scores + r * kKeyBlock + j * kLanes, sum[r][j]);
    }
  }

  // One tile of outputs: out = out * fade + weights [kRows][kKeyBlock] x values [keys][channels].
  static void value_tile(const float* weights, const float* value, int64_t keys, int64_t channels,
                         const float* fade, float* out) {
    Floats sum[kRows][kVectors];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      for (int j = 0; j < kVectors; ++j)
        sum[r][j] = fade[r] * load(out + r * channels + j * kLanes);
    }
    for (int64_t k = 0; k < keys; ++k) {
      Floats v[kVectors];
      for (int j = 0; j < kVectors; ++j) v[j] = load(value + k * channels + j * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const float p = weights[r * kKeyBlock + k];
        for (int j = 0; j < kVectors; ++j) sum[r][j] += p * v[j];
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      for (int j = 0; j < kVectors; ++j) store(out + r * channels + j * kLanes, sum[r][j]);
    }
  }

  // Scores of one row become weights; the row's largest score, sum and fading factor follow.
  static void soften(float* scores, int64_t columns, float& largest, float& sum, float& fade) {
    Floats top = load(scores);
    for (int64_t i = kLanes; i < columns; i += kLanes) {
      const Floats s = load(scores + i);
      top = s > top ? s : top;
    }
    float now = largest;
    for (int i = 0; i < kLanes; ++i) now = top[i] > now ? top[i] : now;
    fade = power_of_two(Floats{} + (largest - now))[0];
    largest = now;
    Floats total = {};
    for (int64_t i = 0; i < columns; i += kLanes) {
      const Floats p = power_of_two(load(scores + i) - now);
      store(scores + i, p);
      total += p;
    }
    float row = 0;
    for (int i = 0; i < kLanes; ++i) row += total[i];
    sum = sum * fade + row;
  }

  static void attend(const Work& work) {
    constexpr float kLog2E = 1.4426950408889634F;
    constexpr float kMasked = -1e30F;
    const int64_t channels = work.channels;
    const int64_t rows = work.end - work.begin;
    const int64_t groups = (rows + kRows - 1) / kRows;
    float* query = work.scratch;                      // [groups][channels][kRows]
    float* out = query + kQueryBlock * channels;      // [rows][channels]
    float* key_block = out + kQueryBlock * channels;  // panels
    float* value_block = key_block + kKeyBlock * channels;
    float* scores = value_block + kKeyBlock * channels;  // [kRows][kKeyBlock]
    float* largest = scores + 16 * kKeyBlock;
    float* sum = largest + kQueryBlock;

    for (int64_t r = 0; r < groups * kRows; ++r) {
      float* row = out + r * channels;
      const int64_t token = work.begin + (r < rows ? r : 0);
      read_numbers(work.query, work.type,
                   ((work.sample * work.query_tokens + token) * work.heads + work.head) * channels,
                   channels, 1, row);
      float* to = query + r / kRows * kRows * channels + r % kRows;
      for (int64_t c = 0; c < channels; ++c) to[c * kRows] = row[c] * (work.scale * kLog2E);
      for (int64_t c = 0; c < channels; ++c) row[c] = 0;
      largest[r] = kMasked;
      sum[r] = 0;
    }

    for (int64_t s = 0; s < work.set_count; ++s) {
      const KeySet& set = work.sets[s];
      const RowReader keys{set.key,    set.index, set.slot_tokens, work.batch,
                           work.heads, channels,  work.sample,     work.head};
      RowReader values = keys;
      values.rows = set.value;
      const int64_t panels = (set.tokens + kPanel - 1) / kPanel;
      const int64_t packed = (work.sample * work.heads + work.head) * panels * kPanel * channels;
      for (int64_t begin = 0; begin < set.tokens; begin += kKeyBlock) {
        const int64_t count = set.tokens - begin < kKeyBlock ? set.tokens - begin : kKeyBlock;
        const int64_t padded = (count + kPanel - 1) / kPanel * kPanel;
        const float* k = key_block;
        if (set.panels == nullptr) {
          fill_panels(keys, begin, count, NoTurn(), value_block, key_block);
        } else if (set.panel_type == Number::kFloat) {
          k = static_cast<const float*>(set.panels) + packed + begin * channels;
        } else {
          read_numbers(set.panels, set.panel_type, packed + begin * channels, padded * channels, 1,
                       key_block);
        }
        for (int64_t i = 0; i < count; ++i) values.read(begin + i, value_block + i * channels);
        for (int64_t g = 0; g < groups; ++g) {
          const float* q = query + g * kRows * channels;
          for (int64_t i = 0; i < padded; i += kColumns) {
            score_tile(q, k + i / kPanel * kPanel * channels + i % kPanel, channels, scores + i);
          }
          float fade[kRows];
          for (int r = 0; r < kRows; ++r) {
            for (int64_t i = count; i < padded; ++i) scores[r * kKeyBlock + i] = kMasked;
            soften(scores + r * kKeyBlock, padded, largest[g * kRows + r], sum[g * kRows + r],
                   fade[r]);
          }
          for (int64_t c = 0; c < channels; c += kColumns) {
            value_tile(scores, value_block + c, count, channels, fade,
                       out + g * kRows * channels + c);
          }
        }
      }
    }

    for (int64_t r = 0; r < rows; ++r) {
      const int64_t token = work.begin + r;
      const float* row = out + r * channels;
      const int64_t offset =
          ((work.sample * work.query_tokens + token) * work.heads + work.head) * channels;
      const float share = 1 / sum[r];
      if (work.type == Number::kFloat) {
        float* to = static_cast<float*>(work.out) + offset;
        for (int64_t c = 0; c < channels; ++c) to[c] = row[c] * share;
      } else {
        uint16_t* to = static_cast<uint16_t*>(work.out) + offset;
        for (int64_t c = 0; c < channels; ++c) to[c] = narrow(row[c] * share);
      }
      if (work.log_sum != nullptr) {
        work.log_sum[(work.sample * work.heads + work.head) * work.query_tokens + token] =
            largest[r] / kLog2E + __builtin_logf(sum[r]);
      }
    }
  }
};

struct Turn {
  const PackWork& work;

  void operator()(int64_t token, float* row) const {
    const float* c = work.cosine + token * work.pairs;
    const float* s = work.sine + token * work.pairs;
    for (int64_t part = 0; part < work.rotation_count; ++part) {
      const PlaneRotations& rotation = work.rotations[part];
      const int64_t step = rotation.adjacent ? 2 : 1;
      const int64_t other = rotation.adjacent ? 1 : rotation.pairs;
      for (int64_t i = 0; i < rotation.pairs; ++i, ++c, ++s) {
        float* pair = row + rotation.begin + i * step;
        const float a = pair[0], b = pair[other];
        pair[0] = a * *c - b * *s;
        pair[other] = a * *s + b * *c;
      }
    }
  }
};

inline void pack(const PackWork& work) {
  const RowReader reader{work.rows,  work.index,    work.slot_tokens, work.batch,
                         work.heads, work.channels, work.sample,      work.head};
  float* row = static_cast<float*>(__builtin_alloca(sizeof(float) * work.channels * (kPanel + 1)));
  for (int64_t begin = 0; begin < work.tokens; begin += kPanel) {
    const int64_t count = work.tokens - begin < kPanel ? work.tokens - begin : kPanel;
    if (work.to_type == Number::kFloat) {
      fill_panels(reader, begin, count, Turn{work}, row,
                  static_cast<float*>(work.to) + begin * work.channels);
      continue;
    }
    float* panel = row + work.channels;
    fill_panels(reader, begin, count, Turn{work}, row, panel);
    uint16_t* to = static_cast<uint16_t*>(work.to) + begin * work.channels;
    for (int64_t i = 0; i < kPanel * work.channels; ++i) to[i] = narrow(panel[i]);
  }
}

}  // namespace

}  // namespace loci::kernels::attention_kernels
