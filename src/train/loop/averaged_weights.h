// SPDX-License-Identifier: Apache-2.0
// Exponential averages of the trained parameters, each kept by the rank that owns its optimizer
// state. Frozen parameters are their own average.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/io/tensors/safetensors.h"
#include "loci/model/weights/parameters.h"
#include "loci/train/distributed/communicator.h"
#include "loci/train/loop/optimizer.h"

namespace loci::train {

class AveragedWeights {
 public:
  // `keep` is the share of the old average that an update leaves. Averages start from `saved`, and
  // where it has none from the parameters. Everything given must outlive this.
  AveragedWeights(const std::vector<model::Parameter>& parameters, const Optimizer& optimizer,
                  Communicator& communicator, double keep,
                  const std::map<std::string, at::Tensor>& saved);

  // After update number `done` (from 1).
  void update(int64_t done);

  // All of them on the leader, in the order of the parameters; every rank must call it.
  io::NamedTensors gathered() const;

  // Puts the averages in the place of the parameters, on every rank, as long as it lives.
  class InPlace {
   public:
    explicit InPlace(const AveragedWeights& averages);
    ~InPlace();
    InPlace(const InPlace&) = delete;
    InPlace& operator=(const InPlace&) = delete;

   private:
    const AveragedWeights& averages_;
    std::vector<at::Tensor> trained_;
  };

 private:
  struct Average {
    at::Tensor parameter;
    int owner = 0;
    at::Tensor value;  // on the owner
  };
  // On every rank.
  at::Tensor shared(const Average& average) const;

  const std::vector<model::Parameter>& parameters_;
  Communicator& communicator_;
  double keep_;
  std::map<std::string, Average> averages_;
};

}  // namespace loci::train
