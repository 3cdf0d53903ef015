// SPDX-License-Identifier: Apache-2.0
// Attention of BF16 queries with instructions that multiply BF16 pairs. A template over the machine
// and its products, VectorProducts or TileProducts (see attention_pair_products.h).
#pragma once

#include "loci/kernels/attention/attention_pair_products.h"

namespace loci::kernels::attention_kernels {

namespace {

// Scratch memory of PairLoops in floats, including up to 16 for alignment.
constexpr int64_t pair_scratch_size(int64_t rows, int64_t channels) {
  const int64_t halves = (kQueryBlock + 2 * kKeyBlock) * channels + rows * kKeyBlock;
  return kQueryBlock * channels + rows * kKeyBlock + 17 * kQueryBlock + fill_space(channels) +
         halves / 2 + 16;
}

template <typename Machine, typename Products>
struct PairLoops {
  static constexpr int kRows = Products::kRows;
  using Soft = Softmax<16>;
  using Floats = Soft::Floats;
  using Pairs = typename Machine::Pairs;
  static_assert(kQueryBlock % kRows == 0);
  // 32 is the smallest number of channels. For more channels scratch_size() grows faster.
  static_assert(pair_scratch_size(kRows, 32) <= scratch_size(32));

  // Turns the scores of one row, times `scale`, into weights. Updates the row's largest score and
  // its sums (one per lane), and returns in `fade` the factor by which earlier sums shrink. The
  // sums are those of the rounded weights. Hence outputs are exact averages of values, rounding
  // errors common to numerator and denominator cancel, and one product with ones adds 32 weights.
  static void soften(const float* scores, int64_t columns, float scale, uint16_t* weights,
                     float& largest, float* sums, float& fade) {
    const float top = Soft::largest_of(scores, columns) * scale;
    const float now = top > largest ? top : largest;
    fade = Soft::fading(largest, now);
    largest = now;
    const Floats one = Floats{} + 1.0F;
    const Pairs ones = Machine::narrow(one, one);
    Floats total = fade * Soft::load(sums);
    for (int64_t i = 0; i < columns; i += 32) {
      const Floats low = Soft::load(scores + i) * scale - now;
      const Floats high = Soft::load(scores + i + 16) * scale - now;
      const Pairs rounded =
          Machine::narrow(Soft::template power_of_two<Precision::kBfloat16>(low),
                          Soft::template power_of_two<Precision::kBfloat16>(high));
      __builtin_memcpy(weights + i, &rounded, sizeof rounded);
      total = Machine::dot(total, rounded, ones);
    }
    Soft::store(sums, total);
  }

  // Packs tokens [begin, begin + count) of `values`, padded with zeros to `padded` tokens, as
  // [channels / kPanel][kKeyBlock / 2][kPanel][2]. `space` is a buffer of three rows of floats.
  static void fill_values(const RowReader& values, int64_t begin, int64_t count, int64_t padded,
                          float* space, uint16_t* to) {
    const int64_t channels = values.channels;
    auto* copies = reinterpret_cast<uint16_t*>(space + channels);
    uint16_t* zeros = copies + 2 * channels;
    for (int64_t c = 0; c < channels; ++c) zeros[c] = 0;
    for (int64_t i = 0; i < padded; i += 2) {
      const uint16_t* even = i < count ? values.row(begin + i, space, copies) : zeros;
      const uint16_t* odd =
          i + 1 < count ? values.row(begin + i + 1, space, copies + channels) : zeros;
      for (int64_t c = 0; c < channels; c += kPanel) {
        uint32_t words[kPanel];
        for (int64_t j = 0; j < kPanel; ++j) {
          words[j] = even[c + j] | static_cast<uint32_t>(odd[c + j]) << 16;
        }
        __builtin_memcpy(to + c * kKeyBlock + i * kPanel, words, sizeof words);
      }
    }
  }

  static void attend(const Work& work) {
    [[maybe_unused]] const typename Products::Session session;
    const int64_t channels = work.channels;
    const int64_t rows = work.end - work.begin;
    const int64_t groups = (rows + kRows - 1) / kRows;
    // Aligned to cache lines, so that vector loads do not cross them.
    float* start = work.scratch + (-reinterpret_cast<uintptr_t>(work.scratch) % 64) / sizeof(float);
    float* out = start;                            // [groups][kRows][channels]
    float* scores = out + kQueryBlock * channels;  // [kRows][kKeyBlock]
    float* largest = scores + kRows * kKeyBlock;
    float* sums = largest + kQueryBlock;  // [groups][kRows][16]
    float* space = sums + kQueryBlock * 16;
    auto* query = reinterpret_cast<uint32_t*>(space + fill_space(channels));
    auto* weights = reinterpret_cast<uint16_t*>(query + kQueryBlock * channels / 2);
    uint16_t* key_block = weights + kRows * kKeyBlock;
    uint16_t* value_block = key_block + kKeyBlock * channels;

    for (int64_t r = 0; r < groups * kRows; ++r) {
      const int64_t token = work.begin + (r < rows ? r : 0);
      const uint16_t* row =
          static_cast<const uint16_t*>(work.query) +
          ((work.sample * work.query_tokens + token) * work.heads + work.head) * channels;
      for (int64_t pair = 0; pair < channels / 2; ++pair) {
        __builtin_memcpy(
            query + r / kRows * kRows * (channels / 2) + Products::place(r % kRows, pair, channels),
            row + 2 * pair, sizeof(uint32_t));
      }
      for (int64_t c = 0; c < channels; ++c) out[r * channels + c] = 0;
      largest[r] = kMasked;
      for (int i = 0; i < 16; ++i) sums[r * 16 + i] = 0;
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
        const uint16_t* k = key_block;
        if (set.panels == nullptr) {
          fill_panels<8, PanelLayout::kPairs>(keys, begin, count, NoRotation(), space, key_block);
        } else {
          k = static_cast<const uint16_t*>(set.panels) + packed + begin * channels;
        }
        fill_values(values, begin, count, padded, space, value_block);
        for (int64_t g = 0; g < groups; ++g) {
          const int64_t first = g * kRows;
          for (int64_t i = 0; i < padded; i += kPanel) {
            Products::score(query + first * (channels / 2), k + i * channels, channels, scores + i);
          }
          float fade[kRows];
          for (int r = 0; r < kRows; ++r) {
            for (int64_t i = count; i < padded; ++i) scores[r * kKeyBlock + i] = kMasked;
            soften(scores + r * kKeyBlock, padded, work.scale * kLog2E, weights + r * kKeyBlock,
                   largest[first + r], sums + (first + r) * 16, fade[r]);
          }
          for (int64_t c = 0; c < channels; c += kPanel) {
            Products::add(weights, value_block + c * kKeyBlock, padded, fade,
                          out + first * channels + c, channels);
          }
        }
      }
    }

    for (int64_t r = 0; r < rows; ++r) {
      const int64_t token = work.begin + r;
      const float sum = Soft::sum_of(sums + r * 16);
      const float share = 1 / sum;
      uint16_t* to =
          static_cast<uint16_t*>(work.out) +
          ((work.sample * work.query_tokens + token) * work.heads + work.head) * channels;
      for (int64_t c = 0; c < channels; ++c) to[c] = narrow(out[r * channels + c] * share);
      if (work.log_sum != nullptr) {
        work.log_sum[(work.sample * work.heads + work.head) * work.query_tokens + token] =
            largest[r] / kLog2E + __builtin_logf(sum);
      }
    }
  }
};

}  // namespace

}  // namespace loci::kernels::attention_kernels
