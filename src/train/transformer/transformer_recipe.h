// SPDX-License-Identifier: Apache-2.0
// The recipe of a transformer's training, read from one JSON file (docs/training.md).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "loci/base/config.h"
#include "loci/model/transformer/config.h"
#include "loci/train/data/captions.h"
#include "loci/train/data/window_sources.h"
#include "loci/train/loop/loop_config.h"
#include "loci/train/losses/channel_weights.h"
#include "loci/train/transformer/recurrent_start.h"
#include "loci/train/transformer/teacher.h"
#include "loci/train/transformer/validation.h"
#include "loci/train/windows/window_stages.h"

namespace loci::train {

// A range of updates with its own data and window length.
struct TransformerPhase {
  int64_t window = 21;  // latent frames, 1 + a multiple of the chunk size
  std::vector<DataPart> data;
  WindowStages stages;
};

struct TransformerRecipe {
  LoopConfig loop;
  std::vector<TransformerPhase> phases;  // parallel to loop.phases
  model::TransformerConfig model;
  CaptionConfig text;
  // Model folder with the initial weights; parameters that it lacks are initialised randomly.
  // Empty: all are.
  std::filesystem::path start;
  std::vector<ParameterGroup> start_without;  // groups that are not taken from `start`
  RecurrentStartConfig recurrent_start;
  std::string device = "cpu";  // or "cuda": every rank uses the device of its LOCAL_RANK
  bool checkpoint_blocks = false;
  ChannelWeightsConfig channel_weights;
  double log_loss_above = 0;  // LossOptions::log_above
  // Measures the standard deviations of the latent channels for model.linear_guess when the run
  // starts.
  bool linear_guess = false;
  DistillConfig distill;
  ValidationConfig validation;
  Json source;  // the JSON object, for checkpoints

  static TransformerRecipe from_json(const Json& json, const std::string& where);
  // The phase that contains an update.
  const TransformerPhase& phase(int64_t update) const { return phases[loop.phase(update)]; }
};

}  // namespace loci::train
