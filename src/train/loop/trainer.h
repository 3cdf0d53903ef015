// SPDX-License-Identifier: Apache-2.0
// The training loop of the transformer.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loci/model/transformer/transformer.h"
#include "loci/train/loop/averaged_weights.h"
#include "loci/train/windows/captions.h"
#include "loci/train/distributed/communicator.h"
#include "loci/train/loop/event_log.h"
#include "loci/train/loop/optimizer.h"
#include "loci/train/loop/run_folder.h"
#include "loci/train/loop/train_config.h"
#include "loci/train/windows/window.h"
#include "loci/train/windows/window_pass.h"

namespace loci::train {

class Trainer {
 public:
  // Starts from the folder's newest checkpoint when `resume`; without it, a folder that already
  // holds one is bad input.
  Trainer(TrainConfig config, const std::filesystem::path& folder, bool resume,
          Communicator& communicator);

  // Runs to the configured number of updates. On an interrupt, writes a checkpoint and throws
  // Interrupted. A loss or gradient that is not finite ends the run; the last checkpoint stays.
  void run();

  // One update; returns the mean loss over all ranks. Public for tests and benchmarks.
  struct UpdateResult {
    double loss = 0;
    double gradient_norm = 0;
    bool stop = false;        // some rank was interrupted
    bool checkpoint = false;  // the leader asks for one
  };
  UpdateResult update(bool checkpoint_due);

  int64_t updates_done() const { return done_; }
  const model::Transformer& transformer() const { return *transformer_; }

 private:
  // Loss of one window of this update, after adding its gradient times `weight`.
  double sample_loss(uint64_t index, double weight);
  // Says in the log where the numbers of a window stop being finite: layer and chunk.
  void explain_loss(const WindowPass& pass, const at::Tensor& text, uint64_t index) const;
  at::Tensor distillation_loss(const WindowPass& pass, const at::Tensor& text) const;
  const WindowSource& source(const Phase& phase, uint64_t index) const;
  std::vector<std::string> captions() const;
  void start_from(const std::filesystem::path& folder);
  void log(const Json& metrics);
  void validate_averaged();
  void save();

  TrainConfig config_;
  at::Device device_;
  RunFolder folder_;
  Communicator& communicator_;
  EventLog events_;
  std::unique_ptr<model::Transformer> transformer_;
  std::unique_ptr<CaptionEncoder> captions_;
  std::unique_ptr<model::Transformer> teacher_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<AveragedWeights> averages_;
  std::map<std::string, std::unique_ptr<WindowSource>> sources_;  // by folder
  std::unique_ptr<WindowSource> held_out_;
  LossOptions loss_options_;
  int64_t done_ = 0;
};

}  // namespace loci::train
