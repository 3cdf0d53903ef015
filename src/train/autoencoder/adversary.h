// SPDX-License-Identifier: Apache-2.0
// The discriminator of a training run together with its optimizer.
#pragma once

#include <span>
#include <string>

#include <ATen/core/Tensor.h>

#include "loci/train/autoencoder/discriminator.h"
#include "loci/train/distributed/communicator.h"
#include "loci/train/loop/optimizer.h"

namespace loci::train {

class Adversary {
 public:
  // The learning rate follows the schedule of `generator` from update config.from on. Scores are
  // computed in type `compute`. `communicator` must outlive this object.
  Adversary(const AdversarialConfig& config, const OptimizerConfig& generator, uint64_t seed,
            at::ScalarType compute, Communicator& communicator);

  // Whether the loss is used in an update.
  bool begun(int64_t update) const { return update >= config_.from; }

  // Trains the discriminator on clips of this rank [B, 3, T, H, W]. Key i determines the frames and
  // the crop of clip i. All ranks must call it.
  struct Result {
    at::Tensor loss;           // the adversarial loss of the decoded clips
    at::Tensor gradient;       // with respect to the decoded clips
    double discriminator = 0;  // the discriminator's loss before its update
  };
  Result update(int64_t update, const at::Tensor& decoded, const at::Tensor& recorded,
                std::span<const uint64_t> keys);

  // Of the discriminator and its optimizer, complete on the leader. All ranks must call it.
  io::NamedTensors state();
  void load_state(const io::SafetensorsFile& state, const std::string& source);

 private:
  AdversarialConfig config_;
  at::ScalarType compute_;
  Discriminator discriminator_;
  Optimizer optimizer_;
};

}  // namespace loci::train
