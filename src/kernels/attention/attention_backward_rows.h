// SPDX-License-Identifier: Apache-2.0
// Shared by the gradients of attention in FP32 and in BF16 pairs: the positions of rows, the
// rotation of keys and of their gradients, and the iteration over blocks. Compiled once per
// instruction set.
#pragma once

#include "loci/kernels/attention/attention_backward_kernel.h"
#include "loci/kernels/attention/attention_softmax.h"

namespace loci::kernels::attention_backward_kernels {

namespace {

// Offset of the row of a token, for the sample and head of `work`.
inline int64_t query_row(const Work& work, int64_t token) {
  return ((work.sample * work.query_tokens + token) * work.heads + work.head) * work.channels;
}
inline int64_t key_row(const Work& work, int64_t token) {
  return ((work.sample * work.key_tokens + token) * work.heads + work.head) * work.channels;
}

struct KeyRotations {
  explicit KeyRotations(const Span& span) {
    forward.rotations = span.rotations;
    forward.rotation_count = span.rotation_count;
    forward.pairs = span.pairs;
    forward.cosine = span.cosine;
    forward.sine = span.sine;
    inverse = forward;
    inverse.sine = span.minus_sine;
  }

  attention_kernels::PackWork forward{}, inverse{};
};

// Iterates over all spans, blocks of queries and blocks of keys. `Loops` processes a block with
// load_queries(first, rows), load_keys(span, rotate, begin, count), multiply(rows, count),
// add_key_gradients(span, rotate_back, begin, count) and store_queries(first, rows).
template <typename Loops>
void run_blocks(const Work& work, const Loops& loops) {
  for (int64_t s = 0; s < work.span_count; ++s) {
    const Span& span = work.spans[s];
    const KeyRotations rotations(span);
    for (int64_t first = span.begin; first < span.end; first += kQueryBlock) {
      const int64_t rows = span.end - first < kQueryBlock ? span.end - first : kQueryBlock;
      loops.load_queries(first, rows);
      for (int64_t begin = 0; begin < span.key_count; begin += kKeyBlock) {
        const int64_t left = span.key_count - begin;
        const int64_t count = left < kKeyBlock ? left : kKeyBlock;
        loops.load_keys(span, {rotations.forward}, begin, count);
        loops.multiply(rows, count);
        loops.add_key_gradients(span, {rotations.inverse}, begin, count);
      }
      loops.store_queries(first, rows);
    }
  }
}

}  // namespace

}  // namespace loci::kernels::attention_backward_kernels
