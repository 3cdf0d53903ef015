// SPDX-License-Identifier: Apache-2.0
// Computes the size of a model from its config: parameters by part, and bytes of its history.
#pragma once

#include <cstdint>
#include <string>

#include <c10/core/ScalarType.h>

#include "loci/model/transformer/config.h"

namespace loci::model {

struct ParameterCounts {
  uint64_t base = 0, camera = 0, recurrent = 0;
  uint64_t total() const { return base + camera + recurrent; }
};

// Allocates nothing.
ParameterCounts count_parameters(const TransformerConfig& config);

// One letter per block: S attends to its history, R has a recurrent memory.
std::string layer_letters(const TransformerConfig& config);

// The same model with every block attending to its history.
TransformerConfig full_softmax(const TransformerConfig& config);

// Bytes that a stream keeps of its past, including the current chunk.
struct HistoryBytes {
  uint64_t state = 0;   // recurrent states, FP32
  uint64_t main = 0;    // keys and values of blocks that attend to their history
  uint64_t camera = 0;  // keys and values of the camera branches
  uint64_t total() const { return state + main + camera; }
};

// For `frames` retained latent frames with keys and values in `dtype`.
HistoryBytes history_bytes(const TransformerConfig& config, const camera::TokenGrid& grid,
                           int64_t frames, at::ScalarType dtype);

}  // namespace loci::model
