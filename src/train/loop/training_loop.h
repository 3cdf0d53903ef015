// SPDX-License-Identifier: Apache-2.0
// The training loop of all tasks: updates, learning-rate schedule, EMA weights, logging,
// validation, checkpoints, interrupts and resuming, on one rank or several.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "loci/train/distributed/communicator.h"
#include "loci/train/loop/ema_weights.h"
#include "loci/train/loop/loop_config.h"
#include "loci/train/loop/optimizer.h"
#include "loci/train/loop/run_definition.h"
#include "loci/train/loop/run_folder.h"
#include "loci/train/loop/run_log.h"
#include "loci/train/loop/training_task.h"

namespace loci::train {

class TrainingLoop {
 public:
  // Locks the folder and creates the task's model. With `resume`, the run continues from the newest
  // intact checkpoint in `folder`, if there is one; a recipe that defines another run is bad input,
  // and other differences are reported. Without `resume`, a folder that contains a checkpoint is
  // bad input.
  // `task` and `communicator` must outlive the loop.
  TrainingLoop(LoopConfig config, TrainingTask& task, const std::filesystem::path& folder,
               bool resume, Communicator& communicator);

  // Runs to the configured number of updates and writes a checkpoint at the end. An interrupt
  // writes a checkpoint and throws Interrupted. A loss or gradient that is not finite ends the run
  // with a failed check and leaves the last checkpoint in place.
  void run();

  struct UpdateResult {
    LossTerms losses;  // means over the batch
    double gradient_norm = 0;
    bool stop = false;        // a rank was interrupted
    bool checkpoint = false;  // the leader requested a checkpoint
  };
  // One update. `checkpoint_due` counts on the leader only.
  UpdateResult update(bool checkpoint_due = false);

  int64_t updates_done() const { return done_; }

 private:
  // The checkpoint to continue from. All ranks must call it.
  std::optional<SavedState> find_checkpoint(bool resume) const;
  RunDefinition definition() const;
  UpdateSamples samples() const;  // of the next update
  void log_update(const UpdateResult& result, double seconds);
  void validate();
  void save();

  LoopConfig config_;
  TrainingTask& task_;
  Communicator& communicator_;
  RunFolder folder_;
  RunLog log_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<EmaWeights> ema_;
  int64_t done_ = 0;
  int64_t saved_ = -1;  // update of the newest checkpoint
};

}  // namespace loci::train
