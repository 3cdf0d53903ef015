// SPDX-License-Identifier: Apache-2.0
// Share of the attention to the history that goes to co-visible keys: tokens of past frames that
// show the same surface as the query.
#pragma once

#include <ATen/core/Tensor.h>

namespace loci::eval {

// Means over the queries of a frame in one layer. Attention weights are averaged over heads first.
struct AttentionShare {
  double share = 0;      // attention to co-visible keys / attention to the history
  double mass = 0;       // attention to the history / all attention
  double fraction = 0;   // co-visible keys / keys of the history
  int64_t queries = 0;   // queries that attend to the history; the means are over these
  int64_t excluded = 0;  // queries that do not

  // share / fraction: 1 for uniform attention, NaN if no key is co-visible.
  double enrichment() const;
};

// query [T, H, D]; keys of the history `past` [M, H, D] and of the chunk `own` [N, H, D]; covisible
// bool [T, M]. Scores are scaled by D^-1/2. The softmax is over all keys.
AttentionShare attention_share(const at::Tensor& query, const at::Tensor& past,
                               const at::Tensor& own, const at::Tensor& covisible);

}  // namespace loci::eval
