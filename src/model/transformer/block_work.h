// SPDX-License-Identifier: Apache-2.0
// Arithmetic operations of a block for one chunk, by formula.
#pragma once

#include <cstdint>

#include "loci/model/transformer/config.h"

namespace loci::model {

// Multiplications and additions count one each. Norms, activations, rotations and maps of 4x4 tiles
// are omitted; they are below 1 % of the total.
struct BlockWork {
  double linears = 0;    // projections and feed-forward, without the text's keys and values
  double attention = 0;  // main, camera and text
  double recurrent = 0;  // gate, per-head maps, readout, and with a commit the write
  double total() const { return linears + attention + recurrent; }
};

// For one sample of `tokens` tokens with `past` tokens of history in a stream. `commit` includes
// the write of the recurrent state, counted as two products with the state per token.
BlockWork block_work(const TransformerConfig& config, bool hybrid, int64_t tokens, int64_t past,
                     bool commit = false);

}  // namespace loci::model
