// SPDX-License-Identifier: Apache-2.0
// Losses of a model on windows that it is not trained on.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "loci/base/config.h"
#include "loci/model/transformer/transformer.h"
#include "loci/train/data/captions.h"
#include "loci/train/data/window.h"
#include "loci/train/distributed/communicator.h"
#include "loci/train/windows/window_stages.h"

namespace loci::train {

struct ValidationConfig {
  std::filesystem::path folder;  // of latent clips; empty: no validation
  int64_t windows = 16;
  // Autoencoder that decodes sample pictures; empty: no pictures.
  std::filesystem::path vae;
  int64_t steps = 12;  // denoising steps of the samples

  static ValidationConfig from(const ConfigReader& reader);
};

// Means over validation windows, by name:
//   loss, loss_read_off          velocity error, and the same with the recurrent readout off
//   loss_noise_0.2 …             error of chunks with a noise level in [0, 0.2), …
//   loss_new, loss_gap_1-4s …    error of chunks with a new view, or by the time since the view was
//                                first seen
//   retention_<layer>            share of the layer's channels that keep over 0.9 of the state
//   keys_<layer>                 number of directions over which the written keys are spread
//   write_<layer>                mean write strength β
using ValidationScores = std::map<std::string, double>;

// The windows are divided among the ranks. Every rank must call it and gets the same scores.
ValidationScores validate_windows(const model::Transformer& transformer,
                                  const CaptionEncoder& captions, const WindowSource& source,
                                  const ValidationConfig& config, const WindowStages& stages,
                                  int64_t window, uint64_t seed, Communicator& communicator);

}  // namespace loci::train
