// SPDX-License-Identifier: Apache-2.0
// How much arithmetic a block does for one chunk, by formula.
#pragma once

#include <cstdint>

#include "loci/model/transformer/config.h"

namespace loci::model {

// Multiplications and additions, each counted. Norms, activations, rotations and maps of 4x4 tiles
// are left out: they are below a hundredth of these.
struct BlockWork {
  double linears = 0;    // projections and feed-forward; the text's keys and values are made before
  double attention = 0;  // main, camera and text
  double recurrent = 0;  // gate, per-head maps, read; with a commit also the write
  double total() const { return linears + attention + recurrent; }
};

// One sample of `tokens` tokens with `past` tokens of history, streamed. `commit`: the recurrent
// state is written too, counted as two products with the state a token.
BlockWork block_work(const TransformerConfig& config, bool hybrid, int64_t tokens, int64_t past,
                     bool commit = false);

}  // namespace loci::model
