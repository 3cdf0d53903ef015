// SPDX-License-Identifier: Apache-2.0
// How much of what tokens attend to in their history shows the same as they do.
#pragma once

#include <ATen/core/Tensor.h>

namespace loci::eval {

// Means over the queries of a frame in one layer. Weights are averaged over heads first.
struct AttentionShare {
  double share = 0;      // of the attention to the history, what goes to co-visible keys
  double mass = 0;       // of all attention, what goes to the history
  double fraction = 0;   // of the history's keys, the co-visible ones
  int64_t queries = 0;   // that attend to the history at all; the means are over these
  int64_t excluded = 0;  // that do not

  // Of the share over that of uniform attention; not a number where nothing is co-visible.
  double enrichment() const;
};

// query [T, H, D], past [M, H, D] and own [N, H, D] keys; covisible bool [T, M]. Scores are scaled
// by D^-1/2, and the softmax is over all keys.
AttentionShare attention_share(const at::Tensor& query, const at::Tensor& past,
                               const at::Tensor& own, const at::Tensor& covisible);

}  // namespace loci::eval
