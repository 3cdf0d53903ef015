// SPDX-License-Identifier: Apache-2.0
// How long one window takes, forward and backward, and a file with which another implementation can
// do the same work and be held to the same numbers.
#pragma once

#include <filesystem>
#include <optional>

#include "loci/model/transformer/config.h"

namespace loci::train {

struct TrainBenchOptions {
  int64_t window = 21;             // latent frames
  int64_t height = 8, width = 12;  // of a latent
  int64_t repeats = 5;
  bool bf16 = false;  // products in BF16
  // Where to write the case; empty: nowhere.
  std::filesystem::path case_file;
};

struct TrainBenchResult {
  double seconds = 0;  // a window: median of the repeats, after one that does not count
  double loss = 0;
  double gradient_norm = 0;
  int64_t parameters = 0;
};

// A model with random weights on a made-up window along a path that looks around; the whole past is
// visible. Everything comes from fixed seeds.
TrainBenchResult measure_training(const model::TransformerConfig& config,
                                  const TrainBenchOptions& options);

}  // namespace loci::train
