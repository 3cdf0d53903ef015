// SPDX-License-Identifier: Apache-2.0
// The delta rule and its gradient. Compiled once per instruction set. For a block of tokens with
// keys K, values V and the state S before the block, with G = tril(K Kᵀ, -1):
//   E = V - K S - G U,  U = diag(β) E  (one triangular system),  S ← S + Kᵀ U.
// The gradient visits the blocks in reverse. It reconstructs S from the state after the block by
// subtraction, so that only E has to be stored. From dS:
//   W = K dS - Gᵀ X,  X = diag(β) W  (the transposed system),  dV = X,  dβ = rowsum(W ∘ E),
//   Z = tril(X Uᵀ, -1),  dK = U dSᵀ - X Sᵀ - (Z + Zᵀ) K,  dS ← dS - Kᵀ X.
#pragma once

#include "loci/kernels/delta_rule/delta_rule_kernel.h"
#include "loci/kernels/machine/matrix_tiles.h"

namespace loci::kernels::delta_rule_kernels {

namespace {

template <int kLanes, int kVectors, int kTileRows>
struct DeltaRule {
  using T = Tiles<kLanes, kVectors, kTileRows>;
  using Floats = typename T::Floats;
  static_assert(kBlock % kTileRows == 0 && kBlock % 4 == 0);
  // The number of tokens of a block as columns, padded.
  static constexpr int64_t kTokens = T::whole_columns(kBlock);

  const Work& work;
  int64_t keys = work.keys, values = work.values;
  int64_t key_row = keys + kRowGap, value_row = values + kRowGap;
  int64_t widest = key_row > value_row ? key_row : value_row;
  float* state = work.scratch;                   // [keys][value_row]; backward: [values][key_row]
  float* grad = state + widest * widest;         // [keys][value_row]
  float* grad_columns = grad + widest * widest;  // its transpose, [values][key_row]
  float* key = grad_columns + widest * widest;   // [kBlock][key_row]
  float* change = key + kBlock * widest;         // U [kBlock][value_row]
  float* error = change + kBlock * widest;       // E
  float* back = error + kBlock * widest;         // W
  float* value = back + kBlock * widest;         // X
  float* grad_key = value + kBlock * widest;     // [kBlock][key_row]
  float* columns = grad_key + kBlock * widest;   // keys or U transposed, [widest][kTokens]
  float* gram = columns + (kBlock + kRowGap) * widest;  // [kBlock][kTokens]
  float* pairs = gram + kBlock * kTokens;               // [kBlock][kTokens]
  static_assert(kTokens <= kBlock + kRowGap && kTokens <= 64);

  // ---- copies between arrays and scratch memory

  // Loads `count` rows. The gap behind each row and the padding rows of the block are zero.
  static void load_rows(const float* from, int64_t stride, int64_t count, int64_t channels,
                        float scale, float* to) {
    const int64_t row = channels + kRowGap;
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t c = 0; c < channels; c += kLanes) {
        T::store(to + r * row + c, T::load(from + r * stride + c) * scale);
      }
      for (int64_t c = channels; c < row; ++c) to[r * row + c] = 0;
    }
    for (int64_t i = count * row; i < kBlock * row; ++i) to[i] = 0;
  }
  static void store_rows(const float* from, int64_t count, int64_t channels, float scale, float* to,
                         int64_t stride) {
    const int64_t row = channels + kRowGap;
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t c = 0; c < channels; c += kLanes) {
        T::store(to + r * stride + c, T::load(from + r * row + c) * scale);
      }
    }
  }
  void load_state(const float* from) const {
    for (int64_t k = 0; k < keys; ++k) {
      for (int64_t c = 0; c < values; c += kLanes) {
        T::store(state + k * value_row + c, T::load(from + k * values + c));
      }
    }
  }
  void store_state(const float* from, float* to) const {
    for (int64_t k = 0; k < keys; ++k) {
      for (int64_t c = 0; c < values; c += kLanes) {
        T::store(to + k * values + c, T::load(from + k * value_row + c));
      }
    }
  }

  // ---- triangular systems

  // The lower triangle of out [kBlock][kTokens] = rows [kBlock][row] x columns [channels][kTokens],
  // in full tiles.
  static void lower_products(const float* rows, int64_t row, const float* columns, int64_t channels,
                             float* out) {
    for (int64_t r = 0; r < kBlock; r += kTileRows) {
      for (int64_t c = 0; c < r + kTileRows && c < kTokens; c += T::kColumns) {
        T::template tile<Left::kRows, Into::kSet>(rows + r * row, row, columns + c, kTokens,
                                                  channels, out + r * kTokens + c, kTokens);
      }
    }
  }

  // to -= Σ factor(j) * rows[j] over j in [first, last).
  template <typename Factor>
  void subtract_rows(float* to, const float* rows, int64_t first, int64_t last,
                     const Factor& factor) const {
    constexpr int kWide = 4;  // vectors at a time, to hide the latency of additions
    for (int64_t c = 0; c < values; c += kWide * kLanes) {
      const int64_t left = (values - c) / kLanes;
      if (left >= kWide) {
        Floats sum[kWide];
        for (int v = 0; v < kWide; ++v) sum[v] = T::load(to + c + v * kLanes);
        for (int64_t j = first; j < last; ++j) {
          const float f = factor(j);
          for (int v = 0; v < kWide; ++v) {
            sum[v] -= f * T::load(rows + j * value_row + c + v * kLanes);
          }
        }
        for (int v = 0; v < kWide; ++v) T::store(to + c + v * kLanes, sum[v]);
        continue;
      }
      for (int64_t v = 0; v < left; ++v) {
        Floats sum = T::load(to + c + v * kLanes);
        for (int64_t j = first; j < last; ++j) {
          sum -= factor(j) * T::load(rows + j * value_row + c + v * kLanes);
        }
        T::store(to + c + v * kLanes, sum);
      }
    }
  }

  void scaled_row(const float* from, float factor, float* to) const {
    for (int64_t c = 0; c < values; c += kLanes) T::store(to + c, T::load(from + c) * factor);
  }

  float beta(int64_t token) const { return work.beta[token * work.beta_stride]; }

  // ---- forward

  void read(const Chunk& chunk) const {
    for (int64_t begin = chunk.begin; begin < chunk.end; begin += kBlock) {
      const int64_t count = chunk.end - begin < kBlock ? chunk.end - begin : kBlock;
      load_rows(work.query + begin * work.key_stride, work.key_stride, count, keys, 1, key);
      T::template multiply<Left::kRows, Into::kSet>(
          key, key_row, state, value_row, T::whole_rows(count), values, keys, value, value_row);
      store_rows(value, count, values, work.read_scale, work.read + begin * work.value_stride,
                 work.value_stride);
    }
  }

  void fade(const Chunk& chunk, float* rows) const {
    for (int64_t k = 0; k < keys; ++k)
      scaled_row(rows + k * value_row, chunk.retention[k], rows + k * value_row);
  }

  void write(int64_t begin, int64_t count) const {
    const int64_t rows = T::whole_rows(count);
    load_rows(work.key + begin * work.key_stride, work.key_stride, count, keys, 1, key);
    load_rows(work.value + begin * work.value_stride, work.value_stride, count, values, 1, error);
    T::template multiply<Left::kRows, Into::kSubtract>(key, key_row, state, value_row, rows, values,
                                                       keys, error, value_row);
    T::transpose(key, key_row, kBlock, keys, columns, kTokens);
    lower_products(key, key_row, columns, keys, gram);
    for (int64_t i = 0; i < count; ++i) {
      subtract_rows(error + i * value_row, change, 0, i,
                    [&](int64_t j) { return gram[i * kTokens + j]; });
      scaled_row(error + i * value_row, beta(begin + i), change + i * value_row);
    }
    if (work.error != nullptr) {
      store_rows(error, count, values, 1, work.error + begin * work.value_stride,
                 work.value_stride);
    }
    T::template multiply<Left::kColumns, Into::kAdd>(
        key, key_row, change, value_row, T::whole_rows(keys), values, count, state, value_row);
  }

  void forward() const {
    load_state(work.state);
    for (int64_t i = 0; i < work.chunk_count; ++i) {
      const Chunk& chunk = work.chunks[i];
      if (work.chunk_state != nullptr) {
        store_state(state, work.chunk_state + i * work.chunk_state_stride);
      }
      if (work.query != nullptr) read(chunk);
      if (!chunk.writes) continue;
      if (chunk.retention != nullptr) fade(chunk, state);
      for (int64_t begin = chunk.begin; begin < chunk.end; begin += kBlock) {
        write(begin, chunk.end - begin < kBlock ? chunk.end - begin : kBlock);
      }
    }
    store_state(state, work.end_state);
  }

  // ---- backward: `state` holds the transposed state, `grad` its gradient

  void write_back(const Gradients& to, int64_t begin, int64_t count) const {
    const int64_t rows = T::whole_rows(count);
    load_rows(work.key + begin * work.key_stride, work.key_stride, count, keys, 1, key);
    load_rows(work.error + begin * work.value_stride, work.value_stride, count, values, 1, error);
    for (int64_t i = 0; i < kBlock * value_row; ++i) change[i] = value[i] = 0;
    for (int64_t i = 0; i < count; ++i) {
      scaled_row(error + i * value_row, beta(begin + i), change + i * value_row);
    }
    T::template multiply<Left::kColumns, Into::kSubtract>(
        change, value_row, key, key_row, T::whole_rows(values), keys, count, state, key_row);
    T::transpose(grad, value_row, keys, values, grad_columns, key_row);
    T::template multiply<Left::kRows, Into::kSet>(key, key_row, grad, value_row, rows, values, keys,
                                                  back, value_row);
    T::transpose(key, key_row, kBlock, keys, columns, kTokens);
    lower_products(key, key_row, columns, keys, gram);
    for (int64_t i = count - 1; i >= 0; --i) {
      float* w = back + i * value_row;
      subtract_rows(w, value, i + 1, count, [&](int64_t j) { return gram[j * kTokens + i]; });
      scaled_row(w, beta(begin + i), value + i * value_row);
      Floats sum = {};
      for (int64_t c = 0; c < values; c += kLanes) {
        sum += T::load(w + c) * T::load(error + i * value_row + c);
      }
      to.beta[(begin + i) * work.beta_stride] = T::total(sum);
    }
    store_rows(value, count, values, 1, to.value + begin * work.value_stride, work.value_stride);

    T::transpose(change, value_row, kBlock, values, columns, kTokens);
    lower_products(value, value_row, columns, values, pairs);
    for (int64_t i = 0; i < kBlock; ++i) {
      pairs[i * kTokens + i] = 0;
      for (int64_t j = 0; j < i; ++j) pairs[j * kTokens + i] = pairs[i * kTokens + j];
    }
    T::template multiply<Left::kRows, Into::kSet>(change, value_row, grad_columns, key_row, rows,
                                                  keys, values, grad_key, key_row);
    T::template multiply<Left::kRows, Into::kSubtract>(value, value_row, state, key_row, rows, keys,
                                                       values, grad_key, key_row);
    T::template multiply<Left::kRows, Into::kSubtract>(pairs, kTokens, key, key_row, rows, keys,
                                                       count, grad_key, key_row);
    store_rows(grad_key, count, keys, 1, to.key + begin * work.key_stride, work.key_stride);
    T::template multiply<Left::kColumns, Into::kSubtract>(
        key, key_row, value, value_row, T::whole_rows(keys), values, count, grad, value_row);
  }

  void read_back(const Gradients& to, const Chunk& chunk) const {
    for (int64_t begin = chunk.begin; begin < chunk.end; begin += kBlock) {
      const int64_t count = chunk.end - begin < kBlock ? chunk.end - begin : kBlock;
      load_rows(to.read + begin * work.value_stride, work.value_stride, count, values,
                work.read_scale, value);
      load_rows(work.query + begin * work.key_stride, work.key_stride, count, keys, 1, key);
      T::template multiply<Left::kRows, Into::kSet>(
          value, value_row, state, key_row, T::whole_rows(count), keys, values, grad_key, key_row);
      store_rows(grad_key, count, keys, 1, to.query + begin * work.key_stride, work.key_stride);
      T::template multiply<Left::kColumns, Into::kAdd>(
          key, key_row, value, value_row, T::whole_rows(keys), values, count, grad, value_row);
    }
  }

  void fade_back(const Gradients& to, const Chunk& chunk, int64_t index) const {
    const float* before = work.chunk_state + index * work.chunk_state_stride;
    for (int64_t k = 0; k < keys; ++k) {
      Floats sum = {};
      for (int64_t c = 0; c < values; c += kLanes) {
        sum += T::load(grad + k * value_row + c) * T::load(before + k * values + c);
      }
      to.retention[index * to.retention_stride + k] = T::total(sum);
    }
    fade(chunk, grad);
  }

  void backward(const Gradients& to) const {
    for (int64_t k = 0; k < keys; ++k) {
      for (int64_t c = 0; c < values; c += kLanes) {
        T::store(grad + k * value_row + c,
                 to.end_state != nullptr ? T::load(to.end_state + k * values + c) : Floats{});
      }
    }
    for (int64_t i = work.chunk_count - 1; i >= 0; --i) {
      const Chunk& chunk = work.chunks[i];
      if (chunk.writes) {
        const bool last = i + 1 == work.chunk_count;
        T::transpose(last ? work.end_state : work.chunk_state + (i + 1) * work.chunk_state_stride,
                     values, keys, values, state, key_row);
        const int64_t blocks = (chunk.end - chunk.begin + kBlock - 1) / kBlock;
        for (int64_t b = blocks - 1; b >= 0; --b) {
          const int64_t begin = chunk.begin + b * kBlock;
          write_back(to, begin, chunk.end - begin < kBlock ? chunk.end - begin : kBlock);
        }
        if (chunk.retention != nullptr) fade_back(to, chunk, i);
      }
      if (work.query != nullptr && to.read != nullptr) {
        T::transpose(work.chunk_state + i * work.chunk_state_stride, values, keys, values, state,
                     key_row);
        read_back(to, chunk);
      }
    }
    store_state(grad, to.state);
  }

  static void run_forward(const Work& work) { DeltaRule{work}.forward(); }
  static void run_backward(const Work& work, const Gradients& gradients) {
    DeltaRule{work}.backward(gradients);
  }
};

}  // namespace

}  // namespace loci::kernels::delta_rule_kernels
