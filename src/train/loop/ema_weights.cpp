// SPDX-License-Identifier: Apache-2.0
#include "loci/train/loop/ema_weights.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace loci::train {

EmaWeights::EmaWeights(const std::vector<model::Parameter>& parameters, const Optimizer& optimizer,
                       Communicator& communicator, double keep, const io::SafetensorsFile* saved)
    : parameters_(parameters), communicator_(communicator), keep_(keep) {
  if (keep == 0) return;  // the averages are the parameters
  const std::vector<model::Parameter>& trained = optimizer.trained();
  for (size_t i = 0; i < trained.size(); ++i) {
    Average average{.parameter = trained[i].tensor.detach(), .owner = optimizer.owner(i)};
    if (average.owner == communicator_.rank()) {
      const bool known = saved != nullptr && saved->has(trained[i].name);
      // With the parameter's memory layout, which all ranks share.
      average.value = at::empty_like(average.parameter)
                          .copy_(known ? saved->tensor(trained[i].name) : average.parameter);
    }
    averages_.emplace(trained[i].name, std::move(average));
  }
}

void EmaWeights::update(int64_t done) {
  const at::NoGradGuard no_grad;
  // The average follows quickly at first, so that the initial weights lose their influence.
  const double keep =
      std::min(keep_, static_cast<double>(done + 1) / static_cast<double>(done + 10));
  std::vector<at::Tensor> held, current;
  for (auto& [name, average] : averages_) {
    if (!average.value.defined()) continue;
    held.push_back(average.value);
    current.push_back(average.parameter);
  }
  if (!held.empty()) at::_foreach_lerp_(held, current, 1 - keep);
}

at::Tensor EmaWeights::shared(const Average& average) const {
  at::Tensor value =
      average.value.defined() ? average.value.clone() : at::empty_like(average.parameter);
  communicator_.broadcast(value, average.owner);
  return value;
}

io::NamedTensors EmaWeights::gathered() const {
  io::NamedTensors all;
  for (const auto& [name, tensor] : parameters_) {
    const auto found = averages_.find(name);
    const at::Tensor value = found == averages_.end() ? tensor.detach() : shared(found->second);
    if (communicator_.leader()) all.emplace_back(name, value.cpu());
  }
  return all;
}

EmaWeights::InPlace::InPlace(const EmaWeights& averages) : averages_(averages) {
  const at::NoGradGuard no_grad;
  for (const auto& [name, average] : averages_.averages_) {
    trained_.push_back(average.parameter.clone());
    at::Tensor(average.parameter).copy_(averages_.shared(average));
  }
}

EmaWeights::InPlace::~InPlace() {
  const at::NoGradGuard no_grad;
  size_t i = 0;
  for (const auto& [name, average] : averages_.averages_) {
    at::Tensor(average.parameter).copy_(trained_[i++]);
  }
}

}  // namespace loci::train
