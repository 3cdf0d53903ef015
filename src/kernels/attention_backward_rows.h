// SPDX-License-Identifier: Apache-2.0
// Where rows stand, and how a span's keys are turned and their gradients back. Included once per
// instruction set.
#pragma once

#include "loci/kernels/attention_backward_kernel.h"
#include "loci/kernels/attention_softmax.h"

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

}  // namespace

}  // namespace loci::kernels::attention_backward_kernels
