// SPDX-License-Identifier: Apache-2.0
// Everything a training run is made of, read from one JSON file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "loci/base/config.h"
#include "loci/model/transformer/config.h"
#include "loci/train/windows/captions.h"
#include "loci/train/windows/channel_weights.h"
#include "loci/train/windows/history_access.h"
#include "loci/train/windows/noise_levels.h"
#include "loci/train/loop/optimizer.h"
#include "loci/train/windows/recurrent_start.h"
#include "loci/train/loop/validation.h"

namespace loci::train {

// One source of windows and its share of a mixture.
struct DataPart {
  std::filesystem::path folder;  // of latent clips
  double weight = 1;
};

// A finished model as the teacher of this one: the conversion of a full-softmax model into another
// layout.
struct DistillConfig {
  std::filesystem::path teacher;  // model folder; empty: none
  double velocity = 1;            // weights of the errors against the teacher's velocity,
  double layers = 1;              // the outputs of its blocks (relative to their size),
  double data = 0;                // and against the data's velocity
  // Steps in which the teacher generates windows of its own, along the paths of the data; 0: the
  // data itself.
  int64_t rollout_steps = 0;

  static DistillConfig from(const ConfigReader& reader);
};

// A stretch of training with its own data and window length.
struct Phase {
  int64_t from = 0;     // update at which it begins
  int64_t window = 21;  // latent frames, 1 + a multiple of the chunk size
  std::vector<DataPart> data;
  HistoryAccessConfig history;
};

struct TrainConfig {
  model::TransformerConfig model;
  CaptionConfig text;
  // A model folder whose weights the run starts from; what it lacks is initialised.
  std::filesystem::path start;
  std::vector<Group> start_without;  // parts of it that begin anew
  RecurrentStartConfig recurrent_start;
  int64_t updates = 5000;
  int64_t batch = 64;  // windows an update, over all ranks
  uint64_t seed = 0;
  std::string device = "cpu";    // or cuda: each rank takes one of its machine's
  std::string compute = "auto";  // float32, bfloat16, or by what the machine does fast
  bool checkpoint_blocks = false;
  double ema = 0.999;
  NoiseConfig noise;
  ChannelWeightsConfig channel_weights;
  double log_loss_above = 0;  // of a frame's error (window_loss.h); 0: the error itself
  // Measures the deviations of the latents' channels for model.linear_guess when the run starts.
  bool linear_guess = false;
  OptimizerConfig optimizer;
  std::vector<Phase> phases;
  DistillConfig distill;
  ValidationConfig validation;
  double checkpoint_minutes = 5;
  int64_t keep_checkpoints = 2;
  int64_t log_every = 1;
  Json source;  // as given, for the checkpoint

  static TrainConfig from_json(const Json& json, const std::string& where);
  const Phase& phase(int64_t update) const;
};

}  // namespace loci::train
