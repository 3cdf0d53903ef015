// SPDX-License-Identifier: Apache-2.0
// The gradient of attention for BF16 inputs: products of BF16 pairs, accumulated in FP32. A
// template over a `Machine` as described in attention_pair_products.h. The formulas are those of
// attention_backward_loops.h.
//
// Both factors of a product are stored as pairs of numbers that are neighbours along the summed
// dimension, one pair per word. Scores are summed over channels: queries are stored as rows, keys
// as columns. Gradients of keys and values are summed over queries, and gradients of queries over
// keys: there, two rows are interleaved into one row of words.
#pragma once

#include "loci/kernels/attention/attention_backward_rows.h"
#include "loci/kernels/machine/matrix_tiles.h"

namespace loci::kernels::attention_backward_kernels {

namespace {

// Products of words in tiles of 12 rows by 32 columns. The registers hold 24 accumulators, two
// vectors of B, and one word of A in all lanes.
template <typename Machine>
struct PairTiles {
  using Pairs = typename Machine::Pairs;
  using Soft = attention_kernels::Softmax<16>;
  using Floats = Soft::Floats;
  using Ints = Soft::Ints;
  static constexpr int kRows = 12;
  static constexpr int kColumns = 32;

  static Pairs load(const uint32_t* from) {
    Pairs pairs;
    __builtin_memcpy(&pairs, from, sizeof pairs);
    return pairs;
  }

  template <Left kLeft, Into kInto>
  static void tile(const uint32_t* a, int64_t a_stride, const uint32_t* b, int64_t b_stride,
                   int64_t depth, float* out, int64_t out_stride) {
    Floats sum[kRows][2];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      for (int j = 0; j < 2; ++j) {
        sum[r][j] = kInto == Into::kSet ? Floats{} : Soft::load(out + r * out_stride + j * 16);
      }
    }
    for (int64_t t = 0; t < depth; ++t) {
      const Pairs left = load(b + t * b_stride), right = load(b + t * b_stride + 16);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const uint32_t word = kLeft == Left::kRows ? a[r * a_stride + t] : a[t * a_stride + r];
        const Ints everywhere = Ints{} + static_cast<int32_t>(word);
        Pairs pair;
        __builtin_memcpy(&pair, &everywhere, sizeof pair);
        sum[r][0] = Machine::dot(sum[r][0], left, pair);
        sum[r][1] = Machine::dot(sum[r][1], right, pair);
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      for (int j = 0; j < 2; ++j) Soft::store(out + r * out_stride + j * 16, sum[r][j]);
    }
  }

  // out [rows, columns] = A [rows, 2 depth] times B [2 depth, columns], or added to it. Sizes are
  // multiples of the tile. Strides are distances between rows in memory, in words (A, B) or floats.
  template <Left kLeft, Into kInto>
  static void multiply(const uint32_t* a, int64_t a_stride, const uint32_t* b, int64_t b_stride,
                       int64_t rows, int64_t columns, int64_t depth, float* out,
                       int64_t out_stride) {
    for (int64_t c = 0; c < columns; c += kColumns) {
      for (int64_t r = 0; r < rows; r += kRows) {
        tile<kLeft, kInto>(kLeft == Left::kRows ? a + r * a_stride : a + r, a_stride, b + c,
                           b_stride, depth, out + r * out_stride + c, out_stride);
      }
    }
  }

  // Stores 32 numbers of a row as 16 words.
  static void store_row(uint32_t* to, const Floats& low, const Floats& high) {
    const Pairs pairs = Machine::narrow(low, high);
    __builtin_memcpy(to, &pairs, sizeof pairs);
  }

  // Stores 16 numbers of each of two rows, interleaved, as 16 words.
  static void store_rows(uint32_t* to, const Floats& first, const Floats& second) {
    using Words = Soft::Words;
    const auto rounded = [](const Floats& x) {
      const Words bits = (Words)x;
      return bits + 0x7FFF + (bits >> 16 & 1);
    };
    const Words words = (rounded(first) >> 16) | (rounded(second) & 0xFFFF0000U);
    __builtin_memcpy(to, &words, sizeof words);
  }
};

template <typename Machine>
struct PairBackward {
  using T = PairTiles<Machine>;
  using Lines = Tiles<16, 2, 12>;
  using Soft = attention_kernels::Softmax<16>;
  using Floats = Soft::Floats;
  static_assert(kQueryBlock % T::kRows == 0 && kKeyBlock % T::kRows == 0 && T::kRows % 2 == 0 &&
                kKeyBlock % T::kColumns == 0);
  static constexpr float kLog2E = attention_kernels::kLog2E;
  static constexpr int64_t kWeights = kKeyBlock + kRowGap;          // length of a row of scores
  static constexpr int64_t kHalfWeights = kKeyBlock / 2 + kRowGap;  // as words

  const Work& work;
  int64_t channels = work.channels;
  int64_t row = work.channels + kRowGap;
  int64_t half_row = work.channels / 2 + kRowGap;
  float* grad_query = work.scratch;                  // [kQueryBlock][row]
  float* grad_key = grad_query + kQueryBlock * row;  // [kKeyBlock][row]
  float* grad_value = grad_key + kKeyBlock * row;
  float* scores = grad_value + kKeyBlock * row;  // [kQueryBlock][kWeights]
  float* grad_weights = scores + kQueryBlock * kWeights;
  float* log_sum = grad_weights + kQueryBlock * kWeights;         // [kQueryBlock], of powers of two
  float* share = log_sum + kQueryBlock;                           // [kQueryBlock]: rowsum(dO ∘ O)
  float* line = share + kQueryBlock;                              // [2][row]
  uint32_t* query = reinterpret_cast<uint32_t*>(line + 2 * row);  // [kQueryBlock][half_row]
  uint32_t* grad_out = query + kQueryBlock * half_row;
  uint32_t* query_pairs = grad_out + kQueryBlock * half_row;  // [kQueryBlock / 2][row]
  uint32_t* grad_out_pairs = query_pairs + kQueryBlock / 2 * row;
  uint32_t* key = grad_out_pairs + kQueryBlock / 2 * row;  // [kKeyBlock][half_row]
  uint32_t* value = key + kKeyBlock * half_row;
  uint32_t* key_pairs = value + kKeyBlock * half_row;       // [kKeyBlock / 2][row]
  uint32_t* key_columns = key_pairs + kKeyBlock / 2 * row;  // [channels / 2][kWeights]
  uint32_t* value_columns = key_columns + channels / 2 * kWeights;
  uint32_t* weight_pairs = value_columns + channels / 2 * kWeights;  // [kQueryBlock / 2][kWeights]
  uint32_t* grad_score_pairs = weight_pairs + kQueryBlock / 2 * kWeights;
  // [kQueryBlock][kHalfWeights]
  uint32_t* grad_scores = grad_score_pairs + kQueryBlock / 2 * kWeights;

  template <typename Number>
  static void clear(Number* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = 0;
  }
  static constexpr int64_t whole(int64_t count, int64_t unit) {
    return (count + unit - 1) / unit * unit;
  }

  // Stores one row as words, and two rows interleaved as words.
  void pack_row(const float* from, uint32_t* to) const {
    for (int64_t c = 0; c < channels; c += 32) {
      T::store_row(to + c / 2, Soft::load(from + c), Soft::load(from + c + 16));
    }
  }
  void pack_pair(const float* first, const float* second, uint32_t* to) const {
    for (int64_t c = 0; c < channels; c += 16) {
      T::store_rows(to + c, Soft::load(first + c), Soft::load(second + c));
    }
  }

  // Loads queries [begin, begin + rows) with their gradients and sums. Padding rows are zero.
  void load_queries(int64_t begin, int64_t rows) const {
    const float* sums =
        work.log_sum + (work.sample * work.heads + work.head) * work.query_tokens + begin;
    const int64_t padded = whole(rows, T::kRows);
    clear(line, row);
    const auto from = [&](const float* all, int64_t r) {
      return r < rows ? all + query_row(work, begin + r) : line;
    };
    for (int64_t r = 0; r < padded; ++r) {
      const float* g = from(work.grad_out, r);
      const float* o = from(work.out, r);
      pack_row(from(work.query, r), query + r * half_row);
      pack_row(g, grad_out + r * half_row);
      Floats sum = {};
      for (int64_t c = 0; c < channels; c += 16) sum += Soft::load(g + c) * Soft::load(o + c);
      share[r] = Lines::total(sum);
      log_sum[r] = r < rows ? sums[r] * kLog2E : 0;
    }
    for (int64_t r = 0; r < padded; r += 2) {
      pack_pair(from(work.query, r), from(work.query, r + 1), query_pairs + r / 2 * row);
      pack_pair(from(work.grad_out, r), from(work.grad_out, r + 1), grad_out_pairs + r / 2 * row);
    }
    clear(grad_query, padded * row);
  }

  // Loads keys [begin, begin + count) of a span and their values.
  void load_keys(const Span& span, const attention_kernels::RotateRow& rotate, int64_t begin,
                 int64_t count) const {
    const int64_t padded = whole(count, T::kColumns);
    const auto load_key = [&](int64_t i, float* to) {
      if (i >= count) return clear(to, channels);
      __builtin_memcpy(to, work.key + key_row(work, span.keys[begin + i]),
                       static_cast<uint64_t>(channels) * sizeof(float));
      if (begin + i < span.rotated) rotate(begin + i, to);
    };
    for (int64_t i = 0; i < padded; i += 2) {
      float* second = line + row;
      load_key(i, line);
      load_key(i + 1, second);
      pack_row(line, key + i * half_row);
      pack_row(second, key + (i + 1) * half_row);
      pack_pair(line, second, key_pairs + i / 2 * row);
    }
    for (int64_t i = 0; i < count; ++i) {
      pack_row(work.value + key_row(work, span.keys[begin + i]), value + i * half_row);
    }
    for (int64_t i = count; i < padded; ++i) clear(value + i * half_row, channels / 2);
    transpose(key, padded, key_columns);
    transpose(value, padded, value_columns);
  }

  // Transposes words as floats of the same bits.
  void transpose(const uint32_t* from, int64_t rows, uint32_t* to) const {
    Lines::transpose(reinterpret_cast<const float*>(from), half_row, rows, channels / 2,
                     reinterpret_cast<float*>(to), kWeights);
  }

  // Turns scores into weights, and gradients of weights into gradients of scores, both as words.
  // Padding is zero.
  void weigh(int64_t rows, int64_t count) const {
    const int64_t columns = whole(count, T::kColumns);
    const float scale = work.scale * kLog2E;
    for (int64_t r = 0; r < rows; r += 2) {
      uint32_t* weight_to = weight_pairs + r / 2 * kWeights;
      uint32_t* pair_to = grad_score_pairs + r / 2 * kWeights;
      for (int64_t i = 0; i < columns; i += 32) {
        Floats weight[2][2], gradient[2][2];  // [row][half]
        for (int n = 0; n < 2; ++n) {
          for (int half = 0; half < 2; ++half) {
            const int64_t at = (r + n) * kWeights + i + 16 * half;
            weight[n][half] = Soft::template power_of_two<attention_kernels::Precision::kBfloat16>(
                Soft::load(scores + at) * scale - log_sum[r + n]);
            gradient[n][half] = weight[n][half] * (Soft::load(grad_weights + at) - share[r + n]);
          }
          T::store_row(grad_scores + (r + n) * kHalfWeights + i / 2, gradient[n][0],
                       gradient[n][1]);
        }
        for (int half = 0; half < 2; ++half) {
          T::store_rows(weight_to + i + 16 * half, weight[0][half], weight[1][half]);
          T::store_rows(pair_to + i + 16 * half, gradient[0][half], gradient[1][half]);
        }
      }
      const int64_t end = columns > whole(count, T::kRows) ? columns : whole(count, T::kRows);
      clear(weight_to + count, end - count);
      clear(pair_to + count, end - count);
      for (int n = 0; n < 2; ++n) {
        uint32_t* words = grad_scores + (r + n) * kHalfWeights;
        if (count % 2 != 0) words[count / 2] &= 0xFFFF;  // keeps the last key, clears the padding
        clear(words + (count + 1) / 2, columns / 2 - (count + 1) / 2);
      }
    }
  }

  void add_key_gradients(const Span& span, const attention_kernels::RotateRow& rotate_back,
                         int64_t begin, int64_t count) const {
    for (int64_t i = 0; i < count; ++i) {
      float* dk = grad_key + i * row;
      const float* dv = grad_value + i * row;
      if (begin + i < span.rotated) rotate_back(begin + i, dk);
      const int64_t to = key_row(work, span.keys[begin + i]);
      for (int64_t c = 0; c < channels; c += 16) {
        float* key_to = work.grad_key + to + c;
        float* value_to = work.grad_value + to + c;
        Soft::store(key_to, Soft::load(key_to) + Soft::load(dk + c) * work.scale);
        Soft::store(value_to, Soft::load(value_to) + Soft::load(dv + c));
      }
    }
  }

  // The five matrix products of a block.
  void multiply(int64_t rows, int64_t count) const {
    const int64_t tile_rows = whole(rows, T::kRows), columns = whole(count, T::kColumns);
    const int64_t key_rows = whole(count, T::kRows);
    T::template multiply<Left::kRows, Into::kSet>(query, half_row, key_columns, kWeights, tile_rows,
                                                  columns, channels / 2, scores, kWeights);
    T::template multiply<Left::kRows, Into::kSet>(grad_out, half_row, value_columns, kWeights,
                                                  tile_rows, columns, channels / 2, grad_weights,
                                                  kWeights);
    weigh(tile_rows, count);
    T::template multiply<Left::kColumns, Into::kSet>(weight_pairs, kWeights, grad_out_pairs, row,
                                                     key_rows, channels, tile_rows / 2, grad_value,
                                                     row);
    T::template multiply<Left::kColumns, Into::kSet>(grad_score_pairs, kWeights, query_pairs, row,
                                                     key_rows, channels, tile_rows / 2, grad_key,
                                                     row);
    T::template multiply<Left::kRows, Into::kAdd>(grad_scores, kHalfWeights, key_pairs, row,
                                                  tile_rows, channels, (count + 1) / 2, grad_query,
                                                  row);
  }

  void store_queries(int64_t first, int64_t rows) const {
    for (int64_t r = 0; r < rows; ++r) {
      float* to = work.grad_query + query_row(work, first + r);
      for (int64_t c = 0; c < channels; c += 16) {
        Soft::store(to + c, Soft::load(grad_query + r * row + c) * work.scale);
      }
    }
  }

  static void run(const Work& work) { run_blocks(work, PairBackward{work}); }
};

}  // namespace

}  // namespace loci::kernels::attention_backward_kernels
