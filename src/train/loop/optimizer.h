// SPDX-License-Identifier: Apache-2.0
// Parameter updates: AdamW, and Muon for the matrices of blocks and convolutions. Every parameter
// belongs to one rank, which keeps its optimizer state and sends the new value to the other ranks
// (ZeRO stage 1).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"
#include "loci/io/tensors/safetensors.h"
#include "loci/model/weights/parameters.h"
#include "loci/train/distributed/communicator.h"
#include "loci/train/distributed/gradient_buckets.h"
#include "loci/train/loop/parameter_groups.h"

namespace loci::train {

// The section "optimizer" of a recipe. Learning rates are multiplied by learning_rate_factor().
struct OptimizerConfig {
  std::string kind = "adamw";  // or "muon"
  std::map<ParameterGroup, double> learning_rates;
  // Learning rate of a_proj, b_proj and gate_proj of hybrid blocks, which AdamW then updates. Most
  // of a block's input is the same for all tokens, so that at the learning rate of other matrices
  // the gates soon saturate and stop learning. If unset, these parameters are treated like the rest
  // of the recurrent group (Muon updates a_proj).
  std::optional<double> gate_learning_rate;
  // Learning rate of Muon for the backbone. Other groups scale it by the ratio of their learning
  // rate to the backbone's.
  double muon_learning_rate = 0.01;
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0;
  double muon_momentum = 0.95;
  double clip = 0.3;  // maximum norm of the whole gradient
  int64_t warmup_updates = 250;
  int64_t decay_updates = 5000;  // update at which the cosine schedule ends
  double final_share = 0.1;      // of the learning rate, at the end of the schedule and after it
  std::vector<ParameterGroup> frozen;

  // `defaults` holds the values of keys that are absent, and the groups that have a learning rate.
  static OptimizerConfig from(const ConfigReader& reader, const OptimizerConfig& defaults);
  // Linear warm-up, then cosine decay. The maximum is 1.
  double learning_rate_factor(int64_t update) const;
};

class Optimizer {
 public:
  // `parameters` are FP32 leaves. Trained ones are set to require gradients, those of frozen groups
  // are set not to.
  Optimizer(OptimizerConfig config, const std::vector<model::Parameter>& parameters,
            Communicator& communicator);

  // Call it before the last backward pass of an update: finished gradients are then sent to the
  // other ranks.
  void arm() { buckets_->arm(); }
  // Averages the gradients over ranks, clips them, updates the parameters and sends them to all
  // ranks. Returns the norm of the averaged gradient before clipping. If the norm is not finite,
  // nothing changes.
  double step(int64_t update);
  // The norm of the last step for each group of trained parameters.
  const std::map<ParameterGroup, double>& group_norms() const { return group_norms_; }
  void zero_gradients();
  // After a step whose norm was not finite: the name of the first parameter with such a gradient.
  std::string not_finite_gradient() const;

  // The whole state, on the leader. Every rank must call it.
  io::NamedTensors state();
  // Loads the state of a checkpoint, which may be of another number of ranks.
  void load_state(const io::SafetensorsFile& state);

  const std::vector<model::Parameter>& trained() const { return trained_; }
  // The rank that updates trained()[i].
  int owner(size_t i) const { return slots_[i].owner; }

 private:
  struct Slot {
    bool muon = false;
    double rate = 0;
    int owner = 0;
    at::Tensor first, second;  // moments (Muon: momentum only); on the owner
  };
  void update_adamw(int64_t update, double factor);
  void update_muon(double factor);
  double average_and_clip();

  OptimizerConfig config_;
  Communicator& communicator_;
  std::vector<model::Parameter> trained_;
  std::vector<Slot> slots_;
  std::unique_ptr<GradientBuckets> buckets_;
  std::map<ParameterGroup, double> group_norms_;
};

// Orthogonalises matrices [n, r, c] by five Newton-Schulz steps, which bring all singular values
// near 1.
at::Tensor orthogonalise(const at::Tensor& matrices);

}  // namespace loci::train
