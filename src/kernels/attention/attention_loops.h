// SPDX-License-Identifier: Apache-2.0
// Attention in FP32. Compiled once per instruction set, with tiles of as many accumulators as the
// registers can hold.
#pragma once

#include "loci/kernels/attention/attention_softmax.h"

namespace loci::kernels::attention_kernels {

namespace {

// A tile covers kRows queries and kVectors vectors of kLanes keys or channels.
template <int kLanes, int kVectors, int kRows>
struct Loops {
  using Floats = typename VectorOf<kLanes>::Floats;
  using Ints = typename VectorOf<kLanes>::Ints;
  static constexpr int kColumns = kLanes * kVectors;
  static constexpr int kPackLanes = kLanes < 8 ? kLanes : 8;
  static_assert(kPanel % kColumns == 0 && kQueryBlock % kRows == 0 && kRows <= 16);

  using Soft = Softmax<kLanes>;
  static Floats load(const float* from) { return Soft::load(from); }
  static void store(float* to, const Floats& lanes) { Soft::store(to, lanes); }

  // The scores of one tile: queries [channels][kRows] times keys [channels][kPanel].
  static void score_tile(const float* query, const float* key, int64_t channels, float* scores) {
    // Loops over the accumulators are unrolled to keep them in registers.
    Floats sum[kRows][kVectors];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      for (int j = 0; j < kVectors; ++j) sum[r][j] = Floats{};
    }
    for (int64_t c = 0; c < channels; ++c) {
      Floats k[kVectors];
      for (int j = 0; j < kVectors; ++j) k[j] = load(key + c * kPanel + j * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const float q = query[c * kRows + r];
        for (int j = 0; j < kVectors; ++j) sum[r][j] += q * k[j];
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      for (int j = 0; j < kVectors; ++j) store(scores + r * kKeyBlock + j * kLanes, sum[r][j]);
    }
  }

  // One tile of outputs: out = out * fade + weights [kRows][kKeyBlock] x values [keys][kColumns].
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
      for (int j = 0; j < kVectors; ++j) v[j] = load(value + k * kColumns + j * kLanes);
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

  // Turns the scores of one row into weights. Updates the row's largest score and its sums of
  // weights (one per lane), and returns in `fade` the factor by which earlier sums shrink.
  static void soften(float* scores, int64_t columns, float& largest, float* sums, float& fade) {
    const float top = Soft::largest_of(scores, columns);
    const float now = top > largest ? top : largest;
    fade = Soft::fading(largest, now);
    largest = now;
    Floats total = load(sums) * fade;
    for (int64_t i = 0; i < columns; i += kLanes) {
      const Floats p = Soft::template power_of_two<Precision::kFloat>(load(scores + i) - now);
      store(scores + i, p);
      total += p;
    }
    store(sums, total);
  }

  static void attend(const Work& work) {
    const int64_t channels = work.channels;
    const int64_t rows = work.end - work.begin;
    const int64_t groups = (rows + kRows - 1) / kRows;
    float* query = work.scratch;                      // [groups][channels][kRows]
    float* out = query + kQueryBlock * channels;      // [rows][channels]
    float* key_block = out + kQueryBlock * channels;  // panels
    float* value_block = key_block + kKeyBlock * channels;
    float* scores = value_block + kKeyBlock * channels;  // [kRows][kKeyBlock]
    float* value_row = scores + 16 * kKeyBlock;
    float* largest = value_row + channels;
    float* sums = largest + kQueryBlock;  // [rows][kLanes]

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
      for (int i = 0; i < kLanes; ++i) sums[r * kLanes + i] = 0;
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
          fill_panels<kPackLanes, PanelLayout::kColumns>(keys, begin, count, NoRotation(),
                                                         value_block, key_block);
        } else if (set.panel_type == Number::kFloat) {
          k = static_cast<const float*>(set.panels) + packed + begin * channels;
        } else {
          read_numbers(set.panels, set.panel_type, packed + begin * channels, padded * channels, 1,
                       key_block);
        }
        for (int64_t i = 0; i < count; ++i) {
          const float* row = values.row(begin + i, value_row);
          for (int64_t c = 0; c < channels; c += kColumns) {
            float* to = value_block + c * kKeyBlock + i * kColumns;
#pragma GCC unroll 2
            for (int j = 0; j < kVectors; ++j) store(to + j * kLanes, load(row + c + j * kLanes));
          }
        }
        for (int64_t g = 0; g < groups; ++g) {
          const float* q = query + g * kRows * channels;
          for (int64_t i = 0; i < padded; i += kColumns) {
            score_tile(q, k + i / kPanel * kPanel * channels + i % kPanel, channels, scores + i);
          }
          float fade[kRows];
          for (int r = 0; r < kRows; ++r) {
            for (int64_t i = count; i < padded; ++i) scores[r * kKeyBlock + i] = kMasked;
            soften(scores + r * kKeyBlock, padded, largest[g * kRows + r],
                   sums + (g * kRows + r) * kLanes, fade[r]);
          }
          for (int64_t c = 0; c < channels; c += kColumns) {
            value_tile(scores, value_block + c * kKeyBlock, count, channels, fade,
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
      const float sum = Soft::sum_of(sums + r * kLanes);
      const float share = 1 / sum;
      if (work.type == Number::kFloat) {
        float* to = static_cast<float*>(work.out) + offset;
        for (int64_t c = 0; c < channels; ++c) to[c] = row[c] * share;
      } else {
        uint16_t* to = static_cast<uint16_t*>(work.out) + offset;
        for (int64_t c = 0; c < channels; ++c) to[c] = narrow(row[c] * share);
      }
      if (work.log_sum != nullptr) {
        work.log_sum[(work.sample * work.heads + work.head) * work.query_tokens + token] =
            largest[r] / kLog2E + __builtin_logf(sum);
      }
    }
  }
};

}  // namespace

}  // namespace loci::kernels::attention_kernels
