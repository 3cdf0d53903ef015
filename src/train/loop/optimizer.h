// SPDX-License-Identifier: Apache-2.0
// Parameter updates: AdamW, and Muon for the matrices of blocks and convolutions. Every parameter
// belongs to one rank, which keeps its optimizer state and sends the new value to the others (ZeRO
// stage 1).
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

namespace loci::train {

// Parts of the model with a learning rate of their own.
enum class Group { kBackbone, kCamera, kRecurrent, kText };
Group group_of(const std::string& parameter_name);
std::string_view group_name(Group group);
// Unknown names are bad input.
Group parse_group(const std::string& name, const std::string& where);

struct OptimizerConfig {
  std::string kind = "adamw";  // or "muon"
  std::map<Group, double> rates;
  // Of what a_proj, b_proj and gate_proj read off a block's input, by AdamW: that input is mostly
  // the same everywhere, so that at a rate for features they are soon wide open or shut and learn
  // no more. Without it they go with the recurrent group, a_proj by Muon.
  std::optional<double> gate_rate;
  double muon_rate = 0.01;  // of the blocks' matrices, before the group's ratio to the backbone
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0;
  double muon_momentum = 0.95;
  double clip = 0.3;  // largest norm of the whole gradient
  int64_t warmup = 250;
  int64_t decay_updates = 5000;  // end of the cosine
  double final_share = 0.1;      // of the rate, at the end and after
  std::vector<Group> frozen;

  static OptimizerConfig from(const ConfigReader& reader);
  // Linear warm-up, then cosine; 1 at its highest.
  double rate_factor(int64_t update) const;
};

class Optimizer {
 public:
  // `parameters` are FP32 leaves that require gradients; frozen groups are left out and lose
  // theirs.
  Optimizer(OptimizerConfig config, const std::vector<model::Parameter>& parameters,
            Communicator& communicator);

  // Before the last backward pass of an update: gradients may be sent to other ranks as they come.
  void arm() { buckets_->arm(); }
  // Averages gradients over ranks, clips, updates, shares the new parameters. Returns the norm of
  // the averaged gradient before clipping. A norm that is not finite changes nothing.
  double step(int64_t update);
  // The same norm for each group of trained parameters, of the last step.
  const std::map<Group, double>& group_norms() const { return group_norms_; }
  void zero_gradients();
  // After a step whose norm was not finite: the first parameter with such a gradient.
  std::string not_finite_gradient() const;

  // The whole state, gathered from all ranks: every rank must call it, the leader gets the tensors.
  io::NamedTensors state();
  // From a checkpoint of any number of ranks.
  void load_state(const std::map<std::string, at::Tensor>& state);

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
  std::map<Group, double> group_norms_;
};

// Orthogonalises matrices [n, r, c] of one shape by five Newton-Schulz steps: all singular values
// come near 1.
at::Tensor orthogonalise(const at::Tensor& matrices);

}  // namespace loci::train
