// SPDX-License-Identifier: Apache-2.0
// Measurements of `loci bench train`: forward and backward pass of one window. Another
// implementation can repeat them from a case file and compare its results.
#pragma once

#include <filesystem>
#include <optional>

#include "loci/model/transformer/config.h"

namespace loci::app {

struct TrainBenchOptions {
  int64_t window = 21;             // latent frames
  int64_t height = 8, width = 12;  // of a latent frame
  int64_t repeats = 5;
  bool bf16 = false;  // matrix products in BF16
  // Case file to write; empty = none.
  std::filesystem::path case_file;
};

struct TrainBenchResult {
  double seconds = 0;  // per window: median of the repeats after one warm-up
  double loss = 0;
  double gradient_norm = 0;
  int64_t parameters = 0;
};

// A model with random weights on a random window along the preset look_around, with a dense
// history. All values come from fixed seeds.
TrainBenchResult measure_training(const model::TransformerConfig& config,
                                  const TrainBenchOptions& options);

}  // namespace loci::app
