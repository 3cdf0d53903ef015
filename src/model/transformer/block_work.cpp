// SPDX-License-Identifier: Apache-2.0
#include "loci/model/transformer/block_work.h"

namespace loci::model {

BlockWork block_work(const TransformerConfig& config, bool hybrid, int64_t tokens, int64_t past,
                     bool commit) {
  const auto n = static_cast<double>(tokens), keys = static_cast<double>(past + tokens);
  const auto width = static_cast<double>(config.width()), ffn = static_cast<double>(config.ffn_dim);
  const double channels = kHeadChannels;
  const double camera = static_cast<double>(config.camera_heads()) * channels;
  BlockWork work;
  // Weights that each token is multiplied with: query, key, value and output of self-attention,
  // query and output of cross-attention, the camera branch with its encoder of three numbers, the
  // feed-forward.
  const double weights = 6 * width * width + 4 * width * camera + 3 * width + 2 * width * ffn;
  work.linears = 2 * n * weights;
  // Scores and weighted sums: two products of `channels` per query, key and head.
  const double seen =
      (hybrid ? n : keys) * width + keys * camera + static_cast<double>(config.text_len) * width;
  work.attention = 4 * n * seen;
  if (!hybrid) return work;
  const auto heads = static_cast<double>(config.recurrent_heads());
  const double head_product = 2 * n * heads * channels * channels;  // a 128x128 matrix per head
  work.recurrent = 2 * n * width * heads + 2 * head_product;
  if (commit) {
    work.recurrent += 2 * n * width * heads + 2 * head_product  // β, key and value features
                      + width * heads * channels                // retention of the chunk's mean
                      + 2 * head_product;                       // the write
  }
  return work;
}

}  // namespace loci::model
