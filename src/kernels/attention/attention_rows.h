// SPDX-License-Identifier: Apache-2.0
// Reading of rows from slots and packing of keys into panels, for the attention loops. Compiled
// once per instruction set.
#pragma once

#include "loci/kernels/attention/attention_kernel.h"
#include "loci/kernels/machine/vector_types.h"

namespace loci::kernels::attention_kernels {

namespace {

inline float widen(uint16_t half) {
  const uint32_t bits = static_cast<uint32_t>(half) << 16;
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// Rounds to nearest, ties to even; NaN stays NaN.
inline uint16_t narrow(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  if (value != value) return 0x7FC0;
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

// Converts `count` numbers from position `offset` to FP32. INT8 numbers are multiplied by `scale`.
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

// Reads the rows of one sample and head by token.
struct RowReader {
  SlotRows rows;
  const int64_t* index;
  int64_t slot_tokens, batch, heads, channels, sample, head;

  int64_t row_of(int64_t token) const {
    const int64_t slot = index[token / slot_tokens];
    return ((slot * batch + sample) * slot_tokens + token % slot_tokens) * heads + head;
  }
  void read(int64_t token, float* to) const {
    const int64_t row = row_of(token);
    const float scale = rows.type == Number::kInt8 ? rows.scale[row] : 1.0F;
    read_numbers(rows.data, rows.type, row * channels, channels, scale, to);
  }
  // Returns the stored row if it has the requested type, otherwise a converted copy in `to`. `wide`
  // is a buffer for the conversion to BF16. Both have space for one row.
  const float* row(int64_t token, float* to) const {
    if (rows.type == Number::kFloat) {
      return static_cast<const float*>(rows.data) + row_of(token) * channels;
    }
    read(token, to);
    return to;
  }
  const uint16_t* row(int64_t token, float* wide, uint16_t* to) const {
    if (rows.type == Number::kBfloat16) {
      return static_cast<const uint16_t*>(rows.data) + row_of(token) * channels;
    }
    read(token, wide);
    for (int64_t c = 0; c < channels; ++c) to[c] = narrow(wide[c]);
    return to;
  }
};

// Orders for shuffled(): numbers from kLanes on select lanes of the second vector.
template <int kLanes>
struct Orders;
template <>
struct Orders<4> {
  using Ints = VectorOf<4>::Ints;
  static constexpr Ints kLowWords = {0, 4, 1, 5}, kHighWords = {2, 6, 3, 7};
  static constexpr Ints kLowPairs = {0, 1, 4, 5}, kHighPairs = {2, 3, 6, 7};
};
template <>
struct Orders<8> {
  using Ints = VectorOf<8>::Ints;
  static constexpr Ints kLowWords = {0, 8, 1, 9, 4, 12, 5, 13};
  static constexpr Ints kHighWords = {2, 10, 3, 11, 6, 14, 7, 15};
  static constexpr Ints kLowPairs = {0, 1, 8, 9, 4, 5, 12, 13};
  static constexpr Ints kHighPairs = {2, 3, 10, 11, 6, 7, 14, 15};
  static constexpr Ints kLowHalves = {0, 1, 2, 3, 8, 9, 10, 11};
  static constexpr Ints kHighHalves = {4, 5, 6, 7, 12, 13, 14, 15};
};

// Transposes a square of kLanes x kLanes words.
template <int kLanes>
inline void transpose(typename VectorOf<kLanes>::Ints (&rows)[kLanes]) {
  using Order = Orders<kLanes>;
  using Ints = typename VectorOf<kLanes>::Ints;
#pragma GCC unroll 2
  for (int i = 0; i < kLanes; i += 4) {
    const Ints a = shuffled(rows[i], rows[i + 1], Order::kLowWords);
    const Ints b = shuffled(rows[i], rows[i + 1], Order::kHighWords);
    const Ints c = shuffled(rows[i + 2], rows[i + 3], Order::kLowWords);
    const Ints d = shuffled(rows[i + 2], rows[i + 3], Order::kHighWords);
    rows[i] = shuffled(a, c, Order::kLowPairs);
    rows[i + 1] = shuffled(a, c, Order::kHighPairs);
    rows[i + 2] = shuffled(b, d, Order::kLowPairs);
    rows[i + 3] = shuffled(b, d, Order::kHighPairs);
  }
  if constexpr (kLanes == 8) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const Ints a = rows[i], b = rows[i + 4];
      rows[i] = shuffled(a, b, Order::kLowHalves);
      rows[i + 4] = shuffled(a, b, Order::kHighHalves);
    }
  }
}

// Stores kLanes rows of `words` words as columns of a panel [words][kPanel]. `to` is the top of the
// first column. `words` is a multiple of kLanes.
template <int kLanes>
inline void place_columns(const void* const (&rows)[kLanes], int64_t words, void* to) {
  using Ints = typename VectorOf<kLanes>::Ints;
  for (int64_t w = 0; w < words; w += kLanes) {
    Ints square[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      __builtin_memcpy(&square[i], static_cast<const int32_t*>(rows[i]) + w, sizeof(Ints));
    }
    transpose<kLanes>(square);
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      __builtin_memcpy(static_cast<int32_t*>(to) + (w + i) * kPanel, &square[i], sizeof(Ints));
    }
  }
}

// Rotates the channel pairs of the key of a token, see PackWork.
struct NoRotation {
  static constexpr bool kRotates = false;
  void operator()(int64_t, float*) const {}
};

struct RotateRow {
  static constexpr bool kRotates = true;
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

// Size of the buffer `space` of fill_panels(), in floats.
constexpr int64_t fill_space(int64_t channels) { return 9 * channels; }

// Packs tokens [begin, begin + count), after rotate(token, row), into panels at `to`: FP32 columns
// [channels][kPanel], or BF16 pairs [channels / 2][kPanel][2]. The last panel is padded with zeros.
template <int kLanes, PanelLayout kLayout, typename Rotate>
void fill_panels(const RowReader& reader, int64_t begin, int64_t count, const Rotate& rotate,
                 float* space, void* to) {
  static_assert(kLanes <= 8 && kPanel % kLanes == 0);
  const int64_t channels = reader.channels;
  const int64_t words = kLayout == PanelLayout::kPairs ? channels / 2 : channels;
  const int64_t padded = (count + kPanel - 1) / kPanel * kPanel;
  float* wide = space;
  float* copies = space + channels;  // [kLanes][words]
  for (int64_t first = 0; first < padded; first += kLanes) {
    const void* rows[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      float* copy = copies + i * words;
      const int64_t token = begin + first + i;
      rows[i] = copy;
      if (first + i >= count) {
        for (int64_t w = 0; w < words; ++w) copy[w] = 0;
      } else if constexpr (kLayout == PanelLayout::kColumns) {
        if constexpr (Rotate::kRotates) {
          reader.read(token, copy);
          rotate(token, copy);
        } else {
          rows[i] = reader.row(token, copy);
        }
      } else {
        auto* halves = reinterpret_cast<uint16_t*>(copy);
        if constexpr (Rotate::kRotates) {
          reader.read(token, wide);
          rotate(token, wide);
          for (int64_t c = 0; c < channels; ++c) halves[c] = narrow(wide[c]);
        } else {
          rows[i] = reader.row(token, wide, halves);
        }
      }
    }
    place_columns<kLanes>(
        rows, words, static_cast<int32_t*>(to) + first / kPanel * kPanel * words + first % kPanel);
  }
}

// Packs all keys of a sequence, panel by panel.
template <int kLanes>
void pack(const PackWork& work) {
  const RowReader reader{work.rows,  work.index,    work.slot_tokens, work.batch,
                         work.heads, work.channels, work.sample,      work.head};
  const int64_t channels = work.channels;
  auto* space = static_cast<float*>(__builtin_alloca(
      sizeof(float) * static_cast<uint64_t>(fill_space(channels) + kPanel * channels)));
  for (int64_t begin = 0; begin < work.tokens; begin += kPanel) {
    const int64_t count = work.tokens - begin < kPanel ? work.tokens - begin : kPanel;
    if (work.layout == PanelLayout::kPairs) {
      fill_panels<kLanes, PanelLayout::kPairs>(reader, begin, count, RotateRow{work}, space,
                                               static_cast<uint16_t*>(work.to) + begin * channels);
    } else if (work.to_type == Number::kFloat) {
      fill_panels<kLanes, PanelLayout::kColumns>(reader, begin, count, RotateRow{work}, space,
                                                 static_cast<float*>(work.to) + begin * channels);
    } else {
      float* panel = space + fill_space(channels);
      fill_panels<kLanes, PanelLayout::kColumns>(reader, begin, count, RotateRow{work}, space,
                                                 panel);
      uint16_t* to = static_cast<uint16_t*>(work.to) + begin * channels;
      for (int64_t i = 0; i < kPanel * channels; ++i) to[i] = narrow(panel[i]);
    }
  }
}

}  // namespace

}  // namespace loci::kernels::attention_kernels
