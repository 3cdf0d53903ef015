// SPDX-License-Identifier: Apache-2.0
// The gradient of attention in FP32. Compiled once per instruction set. With scores S = scale Q Kᵀ,
// weights P = exp(S - log_sum) and d = rowsum(dO ∘ O):
//   dV = Pᵀ dO,  dS = P ∘ (dO Vᵀ - d),  dQ = scale dS K,  dK = scale dSᵀ Q.
// Computed block by block, so that no full matrix of scores is stored.
#pragma once

#include "loci/kernels/attention/attention_backward_rows.h"
#include "loci/kernels/machine/matrix_tiles.h"

namespace loci::kernels::attention_backward_kernels {

namespace {

template <int kLanes, int kVectors, int kTileRows>
struct Backward {
  using T = Tiles<kLanes, kVectors, kTileRows>;
  using Floats = typename T::Floats;
  using Soft = attention_kernels::Softmax<kLanes>;
  static_assert(kQueryBlock % kTileRows == 0 && kKeyBlock % kTileRows == 0 &&
                kKeyBlock % T::kColumns == 0);
  static constexpr float kLog2E = attention_kernels::kLog2E;
  static constexpr int64_t kWeights = kKeyBlock + kRowGap;  // length of a row of scores

  const Work& work;
  int64_t channels = work.channels;
  int64_t row = work.channels + kRowGap;
  float* query = work.scratch;                       // [kQueryBlock][row], times scale * log2 e
  float* grad_out = query + kQueryBlock * row;       // [kQueryBlock][row]
  float* grad_query = grad_out + kQueryBlock * row;  // [kQueryBlock][row]
  float* key = grad_query + kQueryBlock * row;       // [kKeyBlock][row]
  float* value = key + kKeyBlock * row;
  float* grad_key = value + kKeyBlock * row;
  float* grad_value = grad_key + kKeyBlock * row;
  float* key_columns = grad_value + kKeyBlock * row;  // [channels][kWeights]
  float* value_columns = key_columns + channels * kWeights;
  float* weights = value_columns + channels * kWeights;  // [kQueryBlock][kWeights]
  float* grad_scores = weights + kQueryBlock * kWeights;
  float* log_sum = grad_scores + kQueryBlock * kWeights;  // [kQueryBlock], of powers of two
  float* share = log_sum + kQueryBlock;                   // [kQueryBlock]: rowsum(dO ∘ O)

  static void clear(float* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = 0;
  }

  // Loads queries [begin, begin + rows) with their gradients and sums. Padding rows are zero.
  void load_queries(int64_t begin, int64_t rows) const {
    const float* sums =
        work.log_sum + (work.sample * work.heads + work.head) * work.query_tokens + begin;
    for (int64_t r = 0; r < rows; ++r) {
      const float* q = work.query + query_row(work, begin + r);
      const float* g = work.grad_out + query_row(work, begin + r);
      const float* o = work.out + query_row(work, begin + r);
      Floats sum = {};
      for (int64_t c = 0; c < channels; c += kLanes) {
        T::store(query + r * row + c, T::load(q + c) * (work.scale * kLog2E));
        const Floats gradient = T::load(g + c);
        T::store(grad_out + r * row + c, gradient);
        sum += gradient * T::load(o + c);
      }
      share[r] = T::total(sum);
      log_sum[r] = sums[r] * kLog2E;
    }
    for (int64_t r = rows; r < T::whole_rows(rows); ++r) {
      clear(query + r * row, channels);
      clear(grad_out + r * row, channels);
      share[r] = log_sum[r] = 0;
    }
    clear(grad_query, T::whole_rows(rows) * row);
  }

  // Loads keys [begin, begin + count) of a span and their values, as rows and as columns.
  void load_keys(const Span& span, const attention_kernels::RotateRow& rotate, int64_t begin,
                 int64_t count) const {
    const auto bytes = static_cast<uint64_t>(channels) * sizeof(float);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t from = key_row(work, span.keys[begin + i]);
      __builtin_memcpy(key + i * row, work.key + from, bytes);
      __builtin_memcpy(value + i * row, work.value + from, bytes);
      if (begin + i < span.rotated) rotate(begin + i, key + i * row);
    }
    const int64_t padded = T::whole_columns(count);
    for (int64_t i = count; i < padded; ++i) {
      clear(key + i * row, channels);
      clear(value + i * row, channels);
    }
    T::transpose(key, row, padded, channels, key_columns, kWeights);
    T::transpose(value, row, padded, channels, value_columns, kWeights);
  }

  // Turns scores into weights, and gradients of weights into gradients of scores. Padding columns
  // are zero.
  void weigh(int64_t rows, int64_t count) const {
    const int64_t by_columns = T::whole_columns(count), by_rows = T::whole_rows(count);
    const int64_t padded = by_columns > by_rows ? by_columns : by_rows;
    for (int64_t r = 0; r < rows; ++r) {
      float* p = weights + r * kWeights;
      float* ds = grad_scores + r * kWeights;
      for (int64_t i = 0; i < by_columns; i += kLanes) {
        const Floats weight = Soft::template power_of_two<attention_kernels::Precision::kFloat>(
            T::load(p + i) - log_sum[r]);
        T::store(p + i, weight);
        T::store(ds + i, weight * (T::load(ds + i) - share[r]));
      }
      for (int64_t i = count; i < padded; ++i) p[i] = ds[i] = 0;
    }
  }

  void add_key_gradients(const Span& span, const attention_kernels::RotateRow& rotate_back,
                         int64_t begin, int64_t count) const {
    for (int64_t i = 0; i < count; ++i) {
      float* dk = grad_key + i * row;
      const float* dv = grad_value + i * row;
      if (begin + i < span.rotated) rotate_back(begin + i, dk);
      const int64_t to = key_row(work, span.keys[begin + i]);
      for (int64_t c = 0; c < channels; c += kLanes) {
        float* key_to = work.grad_key + to + c;
        float* value_to = work.grad_value + to + c;
        T::store(key_to, T::load(key_to) + T::load(dk + c) * (1 / kLog2E));
        T::store(value_to, T::load(value_to) + T::load(dv + c));
      }
    }
  }

  // The five matrix products of a block.
  void multiply(int64_t rows, int64_t count) const {
    const int64_t tile_rows = T::whole_rows(rows), columns = T::whole_columns(count);
    const int64_t key_rows = T::whole_rows(count);
    T::template multiply<Left::kRows, Into::kSet>(query, row, key_columns, kWeights, tile_rows,
                                                  columns, channels, weights, kWeights);
    T::template multiply<Left::kRows, Into::kSet>(grad_out, row, value_columns, kWeights, tile_rows,
                                                  columns, channels, grad_scores, kWeights);
    weigh(tile_rows, count);
    T::template multiply<Left::kColumns, Into::kSet>(weights, kWeights, grad_out, row, key_rows,
                                                     channels, rows, grad_value, row);
    T::template multiply<Left::kColumns, Into::kSet>(grad_scores, kWeights, query, row, key_rows,
                                                     channels, rows, grad_key, row);
    T::template multiply<Left::kRows, Into::kAdd>(grad_scores, kWeights, key, row, tile_rows,
                                                  channels, count, grad_query, row);
  }

  void store_queries(int64_t first, int64_t rows) const {
    for (int64_t r = 0; r < rows; ++r) {
      float* to = work.grad_query + query_row(work, first + r);
      for (int64_t c = 0; c < channels; c += kLanes) {
        T::store(to + c, T::load(grad_query + r * row + c) * work.scale);
      }
    }
  }

  static void run(const Work& work) { run_blocks(work, Backward{work}); }
};

}  // namespace

}  // namespace loci::kernels::attention_backward_kernels
