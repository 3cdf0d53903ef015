// SPDX-License-Identifier: Apache-2.0
// What the gradients of attention by FP32 and by BF16 pairs have in common: where rows stand, how a
// span's keys are turned and their gradients back, and the way through blocks. Included once per
// instruction set.
#pragma once

#include "loci/kernels/attention/attention_backward_kernel.h"
#include "loci/kernels/attention/attention_softmax.h"

namespace loci::kernels::attention_backward_kernels {

namespace {

// Where a token's row of the work's sample and head begins.
inline int64_t query_row(const Work& work, int64_t token) {
  return ((work.sample * work.query_tokens + token) * work.heads + work.head) * work.channels;
}
inline int64_t key_row(const Work& work, int64_t token) {
  return ((work.sample * work.key_tokens + token) * work.heads + work.head) * work.channels;
}

struct Turns {
  explicit Turns(const Span& span) {
    there.rotations = span.rotations;
    there.rotation_count = span.rotation_count;
    there.pairs = span.pairs;
    there.cosine = span.cosine;
    there.sine = span.sine;
    back = there;
    back.sine = span.minus_sine;
  }

  attention_kernels::PackWork there{}, back{};
};

// All spans of the work, blocks of queries by blocks of keys. `Loops` has what becomes of a block:
// load_queries and store_queries(first, rows), load_keys and add_key_gradients(span, turn, begin,
// count), and between the latter multiply(rows, count).
template <typename Loops>
void run_blocks(const Work& work, const Loops& loops) {
  for (int64_t s = 0; s < work.span_count; ++s) {
    const Span& span = work.spans[s];
    const Turns turns(span);
    for (int64_t first = span.begin; first < span.end; first += kQueryBlock) {
      const int64_t rows = span.end - first < kQueryBlock ? span.end - first : kQueryBlock;
      loops.load_queries(first, rows);
      for (int64_t begin = 0; begin < span.key_count; begin += kKeyBlock) {
        const int64_t left = span.key_count - begin;
        const int64_t count = left < kKeyBlock ? left : kKeyBlock;
        loops.load_keys(span, {turns.there}, begin, count);
        loops.multiply(rows, count);
        loops.add_key_gradients(span, {turns.back}, begin, count);
      }
      loops.store_queries(first, rows);
    }
  }
}

}  // namespace

}  // namespace loci::kernels::attention_backward_kernels
