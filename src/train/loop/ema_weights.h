// SPDX-License-Identifier: Apache-2.0
// Exponential moving averages (EMA) of the trained parameters. Each is kept by the rank that owns
// the parameter's optimizer state. The EMA weight of a frozen parameter is the parameter itself.
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

class EmaWeights {
 public:
  // `keep` is the share of the average that an update keeps; with 0 no averages are kept, and the
  // EMA weights are the parameters. Averages that `saved` lacks start from
  // the parameters. `parameters` and `communicator` must outlive this object.
  EmaWeights(const std::vector<model::Parameter>& parameters, const Optimizer& optimizer,
             Communicator& communicator, double keep, const io::SafetensorsFile* saved = nullptr);

  // Call it after update `done`, counted from 1.
  void update(int64_t done);

  // All EMA weights in the order of the parameters, on the leader. Every rank must call it.
  io::NamedTensors gathered() const;

  // Replaces the values of the parameters by the EMA weights, on every rank, during its lifetime.
  class InPlace {
   public:
    explicit InPlace(const EmaWeights& averages);
    ~InPlace();
    InPlace(const InPlace&) = delete;
    InPlace& operator=(const InPlace&) = delete;

   private:
    const EmaWeights& averages_;
    std::vector<at::Tensor> trained_;
  };

 private:
  struct Average {
    at::Tensor parameter;
    int owner = 0;
    at::Tensor value;  // defined on the owner
  };
  // The value, on every rank.
  at::Tensor shared(const Average& average) const;

  const std::vector<model::Parameter>& parameters_;
  Communicator& communicator_;
  double keep_;
  std::map<std::string, Average> averages_;
};

}  // namespace loci::train
