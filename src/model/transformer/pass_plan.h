// SPDX-License-Identifier: Apache-2.0
// The data that all blocks of a forward pass share, computed once per pass.
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/kernels/attention/attention_spans.h"
#include "loci/memory/recurrent/recurrent_memory.h"
#include "loci/model/transformer/forward_context.h"

namespace loci::model {

// Immutable. Checkpointed blocks keep it until the backward pass.
struct PassPlan {
  // `recurrent` is the memory of the hybrid blocks, null if there are none.
  PassPlan(const Visibility& visible, const StateAccess& memory,
           const memory::RecurrentMemory* recurrent, at::ScalarType compute);

  at::ScalarType compute;  // type of products
  const TokenMaps* maps;
  at::Tensor absolute;  // maps->absolute in the compute type, or undefined

  // Keys that the chunks of a window attend to, by branch: in the main branch of softmax blocks, in
  // the camera branch, and in hybrid blocks (the own chunk only). Null with a single chunk, which
  // attends to `past` and itself.
  kernels::SharedSpans main_spans, camera_spans, local_spans;
  const PastKeys* past;
  const FixedKeys* fixed;
  // [1, N, 1] in the compute type: zero for tokens without text, otherwise one. Undefined if all
  // tokens have text.
  at::Tensor text_mask;

  // Recurrent states.
  Readout readout;
  uint64_t readout_seed;
  bool writes;                        // whether any chunk is written
  bool write_last;                    // whether the last chunk is written
  std::vector<int64_t> chunk_ends;    // in tokens
  std::vector<int64_t> chunk_tokens;  // tokens per chunk
  int64_t retention_chunks;           // the first chunks, which have log retentions
  // Zero for chunks that are not written, otherwise one, in the wide type: [1, N, 1] for β and
  // [1, n, 1, 1] for rows of log retention. Undefined if every chunk is written.
  at::Tensor beta_mask, retention_mask;

  // Receives keys and values; null = nothing is stored.
  memory::KvStore* store;
  int64_t store_first;

  std::shared_ptr<const kernels::AttentionPast> past_entry(int64_t layer,
                                                           memory::Branch branch) const {
    return past == nullptr ? nullptr : past->entry(layer, branch);
  }
};

}  // namespace loci::model
