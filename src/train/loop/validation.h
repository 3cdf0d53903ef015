// SPDX-License-Identifier: Apache-2.0
// What a model can do with windows it was not trained on.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "loci/base/config.h"
#include "loci/model/transformer/transformer.h"
#include "loci/train/windows/captions.h"
#include "loci/train/distributed/communicator.h"
#include "loci/train/windows/history_access.h"
#include "loci/train/windows/noise_levels.h"
#include "loci/train/windows/window.h"

namespace loci::train {

struct ValidationConfig {
  std::filesystem::path folder;  // of latent clips; empty: no validation
  int64_t every = 500;           // updates
  int64_t windows = 16;
  // Pictures: the autoencoder that decodes them, and steps to generate them in. Empty: none.
  std::filesystem::path vae;
  int64_t steps = 12;

  static ValidationConfig from(const ConfigReader& reader);
};

// Means over validation windows, by name:
//   loss, loss_read_off          velocity error; the same with the recurrent readout switched off
//   loss_noise_0.2 …             of chunks whose noise level is in [0, 0.2), …
//   loss_new, loss_gap_1-4s …    of chunks that show what was never seen before, or was first seen
//                                that long before
//   retention_<layer>            share of the layer's channels that keep over 0.9 of the state
using ValidationScores = std::map<std::string, double>;

// The windows are divided among the ranks, which must all call it and get the same scores.
ValidationScores validate(const model::Transformer& transformer, const CaptionEncoder& captions,
                          const WindowSource& source, const ValidationConfig& config,
                          const NoiseConfig& noise, const HistoryAccessConfig& history,
                          int64_t window, uint64_t seed, Communicator& communicator);

}  // namespace loci::train
