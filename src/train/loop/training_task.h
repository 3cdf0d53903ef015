// SPDX-License-Identifier: Apache-2.0
// The interface between the training loop and the model that it trains.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"
#include "loci/io/tensors/safetensors.h"
#include "loci/model/weights/parameters.h"
#include "loci/train/loop/run_log.h"

namespace loci::train {

// This rank's share of one update. Samples are dealt to the ranks in turn: rank r of n has the
// samples r, r + n, r + 2n, … of the update.
struct UpdateSamples {
  int64_t update = 0;             // updates done before this one
  size_t phase = 0;               // index into the recipe's phases
  std::vector<uint64_t> indices;  // of this rank's samples, counted from the start of the run
  // Gradients and losses are averaged over ranks. A rank multiplies those of one sample by this
  // weight (ranks / batch), so that the average is the mean over the batch.
  double weight = 1;
  // Must be called before the last backward pass: from then on, finished gradients are sent to the
  // other ranks.
  std::function<void()> before_last_backward;
};

// Named parts of the loss; the first is "loss", the value that is minimised.
using LossTerms = std::vector<std::pair<std::string, double>>;

// A task lives on every rank. All ranks call the same functions in the same order.
class TrainingTask {
 public:
  virtual ~TrainingTask() = default;

  // Shown in front of the progress bar, and the plural name of a sample ("windows").
  virtual std::string title() const = 0;
  virtual std::string sample_name() const = 0;

  // The configs of all trained networks with all of their keys. A checkpoint of another
  // architecture cannot be continued.
  virtual Json architecture() const = 0;

  // Called once, before the functions below. Creates the model from the tensors of a checkpoint or,
  // if null, from the recipe's starting point. `source` names the checkpoint in messages.
  virtual void create_model(const io::SafetensorsFile* checkpoint, const std::string& source) = 0;

  // All parameters of the model, FP32 leaves. They stay the same for the life of the task.
  virtual const std::vector<model::Parameter>& parameters() const = 0;
  // The parameters that the optimizer updates; by default all. Frozen groups are removed later.
  virtual std::vector<model::Parameter> trained_parameters() const { return parameters(); }

  // What a checkpoint holds besides the parameters and their optimizer, such as a discriminator
  // that only training needs: complete on the leader. Every rank must call it.
  virtual io::NamedTensors task_state() { return {}; }
  // Restores it from a checkpoint, after create_model(); null if the checkpoint has none. `source`
  // names the checkpoint in messages.
  virtual void load_task_state(const io::SafetensorsFile* /*state*/,
                               const std::string& /*source*/) {}

  // The recipe as written into checkpoints.
  virtual const Json& recipe() const = 0;

  // Adds the gradients of this rank's samples. Returns this rank's part of the loss terms; their
  // mean over ranks is the mean over the batch. The names are the same on every rank.
  virtual LossTerms add_gradients(const UpdateSamples& samples) = 0;

  // Whether the recipe asks for validation.
  virtual bool validates() const = 0;
  // Evaluates the parameters, which hold the EMA weights during this call, without gradients. The
  // leader writes the results to `log`.
  virtual void validate(int64_t update, RunLog& log) = 0;
};

}  // namespace loci::train
