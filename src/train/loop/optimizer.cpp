// SPDX-License-Identifier: Apache-2.0
#include "loci/train/loop/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/kernels/machine/cpu_features.h"
#include "loci/sample/stream/finite.h"

namespace loci::train {

namespace {

// A convolution kernel [out, in, ...] as a matrix.
at::Tensor as_matrix(const at::Tensor& tensor) { return tensor.flatten(1); }

int64_t short_side(const at::Tensor& tensor) {
  return std::min(tensor.size(0), tensor.numel() / tensor.size(0));
}

// Muon updates matrices that map features to features: those of the transformer's blocks and the
// autoencoder's convolutions. AdamW updates embeddings, norms, tables, gates and per-head maps.
bool is_muon_matrix(const model::Parameter& parameter) {
  const std::string& name = parameter.name;
  if (name.starts_with("blocks.")) {
    return parameter.tensor.dim() == 2 && short_side(parameter.tensor) >= 32;
  }
  const bool autoencoder = name.starts_with("encoder.") || name.starts_with("decoder.");
  return autoencoder && parameter.tensor.dim() >= 4 && short_side(parameter.tensor) >= 8;
}

bool is_recurrent_gate(const std::string& name) {
  if (group_of(name) != ParameterGroup::kRecurrent) return false;
  return name.ends_with(".a_proj.weight") || name.ends_with(".b_proj.weight") ||
         name.ends_with(".gate_proj.weight");
}

// Cost of updating one parameter, in arbitrary units. The cost of Newton-Schulz steps is
// proportional to the short side.
double update_cost(const model::Parameter& parameter, bool muon) {
  const auto elements = static_cast<double>(parameter.tensor.numel());
  if (!muon) return elements;
  return elements * static_cast<double>(short_side(parameter.tensor));
}

}  // namespace

OptimizerConfig OptimizerConfig::from(const ConfigReader& reader, const OptimizerConfig& defaults) {
  OptimizerConfig c = defaults;
  c.kind = reader.choose("kind", c.kind, {"adamw", "muon"});
  reader.ignore({"learning_rate"});  // known even when absent
  if (reader.has("learning_rate")) {
    const auto common = reader.get<double>("learning_rate", 0, 0.0, 10.0);
    for (auto& [group, rate] : c.learning_rates) rate = common;
  }
  const ConfigReader rates = reader.section("learning_rates");
  for (auto& [group, rate] : c.learning_rates) {
    rate = rates.get<double>(std::string(group_name(group)), rate, 0.0, 10.0);
  }
  if (c.learning_rates.contains(ParameterGroup::kRecurrent)) rates.ignore({"gates"});
  if (rates.has("gates")) c.gate_learning_rate = rates.get<double>("gates", 0, 0.0, 10.0);
  c.muon_learning_rate = reader.get<double>("muon_learning_rate", c.muon_learning_rate, 0.0, 10.0);
  c.beta1 = reader.get<double>("beta1", c.beta1, 0.0, 1.0);
  c.beta2 = reader.get<double>("beta2", c.beta2, 0.0, 1.0);
  c.eps = reader.get<double>("eps", c.eps, 0.0, 1.0);
  c.weight_decay = reader.get<double>("weight_decay", c.weight_decay, 0.0, 1.0);
  c.muon_momentum = reader.get<double>("muon_momentum", c.muon_momentum, 0.0, 1.0);
  c.clip = reader.get<double>("clip", c.clip, 1e-6, 1e6);
  c.warmup_updates = reader.get<int64_t>("warmup_updates", c.warmup_updates, 0, 1 << 30);
  c.decay_updates = reader.get<int64_t>("decay_updates", c.decay_updates, 1, 1 << 30);
  c.final_share = reader.get<double>("final_share", c.final_share, 0.0, 1.0);
  for (const std::string& name : reader.get<std::vector<std::string>>("frozen", {})) {
    c.frozen.push_back(parse_group(name, reader.where()));
  }
  if (c.kind == "muon" && c.learning_rates.at(ParameterGroup::kBackbone) == 0) {
    fail(
        "{}: the backbone's learning rate is 0, but muon_learning_rate is relative to it; list "
        "backbone in frozen instead",
        reader.where());
  }
  return c;
}

double OptimizerConfig::learning_rate_factor(int64_t update) const {
  if (update < warmup_updates) {
    return static_cast<double>(update + 1) / static_cast<double>(warmup_updates + 1);
  }
  const double progress =
      std::min(1.0, static_cast<double>(update - warmup_updates) /
                        std::max<double>(1, static_cast<double>(decay_updates - warmup_updates)));
  return final_share + (1 - final_share) * 0.5 * (1 + std::cos(std::numbers::pi * progress));
}

at::Tensor orthogonalise(const at::Tensor& matrices) {
  // With these coefficients small singular values grow fastest. They end in about [0.7, 1.2], which
  // is sufficient for the direction of an update.
  constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
  const bool tall = matrices.size(1) > matrices.size(2);
  at::Tensor x = tall ? matrices.transpose(1, 2) : matrices;
  x = x / (x.flatten(1).norm(2, 1).view({-1, 1, 1}) + 1e-7);
  // BF16 is precise enough for a direction and halves the time if there are instructions for it.
  if (kernels::isa_level() >= kernels::IsaLevel::kAvx512Bf16) x = x.to(at::kBFloat16);
  for (int i = 0; i < 5; ++i) {
    const at::Tensor square = at::bmm(x, x.transpose(1, 2));
    const at::Tensor polynomial = at::baddbmm(square, square, square, kB, kC);
    x = at::baddbmm(x, polynomial, x, kA, 1);
  }
  x = x.to(matrices.scalar_type());
  return tall ? x.transpose(1, 2) : x;
}

Optimizer::Optimizer(OptimizerConfig config, const std::vector<model::Parameter>& parameters,
                     Communicator& communicator)
    : config_(std::move(config)), communicator_(communicator) {
  const double backbone = config_.learning_rates.at(ParameterGroup::kBackbone);
  for (const model::Parameter& parameter : parameters) {
    const ParameterGroup group = group_of(parameter.name);
    if (std::find(config_.frozen.begin(), config_.frozen.end(), group) != config_.frozen.end()) {
      parameter.tensor.set_requires_grad(false);
      continue;
    }
    parameter.tensor.set_requires_grad(true);
    Slot slot;
    const bool gate = config_.gate_learning_rate && is_recurrent_gate(parameter.name);
    slot.muon = config_.kind == "muon" && !gate && is_muon_matrix(parameter);
    const double rate = gate ? *config_.gate_learning_rate : config_.learning_rates.at(group);
    slot.rate = slot.muon ? config_.muon_learning_rate * rate / backbone : rate;
    trained_.push_back(parameter);
    slots_.push_back(slot);
  }
  if (trained_.empty()) fail("every parameter group is frozen; there is nothing to train");
  buckets_ = std::make_unique<GradientBuckets>(trained_, communicator_);
  // Assigns the most expensive parameters first, each to the rank with the least work. The result
  // is the same on every rank.
  std::vector<size_t> order(trained_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto cost = [&](size_t i) { return update_cost(trained_[i], slots_[i].muon); };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return cost(a) > cost(b); });
  std::vector<double> work(communicator_.size(), 0.0);
  for (const size_t i : order) {
    const auto least = std::min_element(work.begin(), work.end());
    slots_[i].owner = static_cast<int>(least - work.begin());
    *least += cost(i);
    if (slots_[i].owner == communicator_.rank()) {
      slots_[i].first = at::zeros_like(trained_[i].tensor);
      if (!slots_[i].muon) slots_[i].second = at::zeros_like(trained_[i].tensor);
    }
  }
}

void Optimizer::zero_gradients() {
  for (const model::Parameter& parameter : trained_) parameter.tensor.mutable_grad() = at::Tensor();
}

double Optimizer::average_and_clip() {
  buckets_->finish();
  std::vector<at::Tensor> gradients;
  for (const model::Parameter& parameter : trained_) {
    // Parameters that the loss does not depend on have no gradient.
    if (!parameter.tensor.grad().defined()) {
      parameter.tensor.mutable_grad() = at::zeros_like(parameter.tensor);
    }
    gradients.push_back(parameter.tensor.grad());
  }
  const std::vector<at::Tensor> norms = at::_foreach_norm(gradients, 2);
  group_norms_.clear();
  double norm = 0;
  for (size_t i = 0; i < norms.size(); ++i) {
    const auto value = norms[i].item<double>();
    double& group = group_norms_[group_of(trained_[i].name)];
    group = std::hypot(group, value);
    norm = std::hypot(norm, value);
  }
  if (std::isfinite(norm) && norm > config_.clip) at::_foreach_mul_(gradients, config_.clip / norm);
  return norm;
}

std::string Optimizer::not_finite_gradient() const {
  for (const model::Parameter& parameter : trained_) {
    if (!sample::all_finite(parameter.tensor.grad())) return parameter.name;
  }
  return "the sum of all squares";
}

double Optimizer::step(int64_t update) {
  const at::NoGradGuard no_grad;
  const double norm = average_and_clip();
  if (!std::isfinite(norm)) return norm;
  const double factor = config_.learning_rate_factor(update);
  update_adamw(update, factor);
  update_muon(factor);
  if (communicator_.size() > 1) {
    for (int owner = 0; owner < communicator_.size(); ++owner) {
      std::vector<at::Tensor> owned, flat;
      for (size_t i = 0; i < trained_.size(); ++i) {
        if (slots_[i].owner == owner) owned.push_back(trained_[i].tensor);
      }
      for (const at::Tensor& tensor : owned) flat.push_back(tensor.flatten());
      if (flat.empty()) continue;
      at::Tensor all = at::cat(flat);
      communicator_.broadcast(all, owner);
      if (owner == communicator_.rank()) continue;
      int64_t offset = 0;
      for (at::Tensor& tensor : owned) {
        tensor.copy_(all.narrow(0, offset, tensor.numel()).view(tensor.sizes()));
        offset += tensor.numel();
      }
    }
  }
  return norm;
}

void Optimizer::update_adamw(int64_t update, double factor) {
  const double bias1 = 1 - std::pow(config_.beta1, static_cast<double>(update + 1));
  const double bias2 = 1 - std::pow(config_.beta2, static_cast<double>(update + 1));
  // One fused call per learning rate.
  std::map<double, std::vector<size_t>> by_rate;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].muon && slots_[i].owner == communicator_.rank()) {
      by_rate[slots_[i].rate].push_back(i);
    }
  }
  for (const auto& [rate, members] : by_rate) {
    std::vector<at::Tensor> values, gradients, first, second;
    for (const size_t i : members) {
      values.push_back(trained_[i].tensor);
      gradients.push_back(trained_[i].tensor.grad());
      first.push_back(slots_[i].first);
      second.push_back(slots_[i].second);
    }
    const double step = rate * factor;
    if (config_.weight_decay > 0) at::_foreach_mul_(values, 1 - step * config_.weight_decay);
    at::_foreach_lerp_(first, gradients, 1 - config_.beta1);
    at::_foreach_mul_(second, config_.beta2);
    at::_foreach_addcmul_(second, gradients, gradients, 1 - config_.beta2);
    std::vector<at::Tensor> root = at::_foreach_sqrt(second);
    at::_foreach_div_(root, std::sqrt(bias2));
    at::_foreach_add_(root, config_.eps);
    at::_foreach_addcdiv_(values, first, root, -step / bias1);
  }
}

void Optimizer::update_muon(double factor) {
  // Matrices of one shape are orthogonalised together.
  std::map<std::vector<int64_t>, std::vector<size_t>> by_shape;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].muon && slots_[i].owner == communicator_.rank()) {
      by_shape[as_matrix(trained_[i].tensor).sizes().vec()].push_back(i);
    }
  }
  for (const auto& [shape, members] : by_shape) {
    std::vector<at::Tensor> directions;
    for (const size_t i : members) {
      const at::Tensor gradient = trained_[i].tensor.grad();
      slots_[i].first.mul_(config_.muon_momentum).add_(gradient);
      directions.push_back(as_matrix(at::add(gradient, slots_[i].first, config_.muon_momentum)));
    }
    const at::Tensor updates = orthogonalise(at::stack(directions));
    const double aspect =
        std::sqrt(std::max(1.0, static_cast<double>(shape[0]) / static_cast<double>(shape[1])));
    for (size_t n = 0; n < members.size(); ++n) {
      const size_t i = members[n];
      const double step = slots_[i].rate * factor;
      if (config_.weight_decay > 0) trained_[i].tensor.mul_(1 - step * config_.weight_decay);
      trained_[i].tensor.add_(
          updates.select(0, static_cast<int64_t>(n)).reshape(trained_[i].tensor.sizes()),
          -step * aspect);
    }
  }
}

io::NamedTensors Optimizer::state() {
  io::NamedTensors state;
  const auto collect = [&](const std::string& name, const at::Tensor& like, at::Tensor& held,
                           int owner) {
    at::Tensor whole = held.defined() ? held : at::empty_like(like);
    communicator_.broadcast(whole, owner);
    if (communicator_.leader())
      state.emplace_back(name, whole.to(at::kCPU, whole.scalar_type(), false, /*copy=*/true));
  };
  for (size_t i = 0; i < trained_.size(); ++i) {
    const auto& [name, tensor] = trained_[i];
    collect(name + ".first", tensor.detach(), slots_[i].first, slots_[i].owner);
    if (!slots_[i].muon) {
      collect(name + ".second", tensor.detach(), slots_[i].second, slots_[i].owner);
    }
  }
  return state;
}

void Optimizer::load_state(const io::SafetensorsFile& state) {
  const auto restore = [&](const std::string& name, at::Tensor& held) {
    if (!state.has(name) || at::IntArrayRef(state.info(name).shape) != held.sizes()) {
      fail(
          "the checkpoint has no optimizer state '{}' of the right size; it was probably written "
          "with another optimizer or model: resume with the recipe of the run",
          name);
    }
    held.copy_(state.tensor(name));
  };
  for (size_t i = 0; i < trained_.size(); ++i) {
    if (slots_[i].owner != communicator_.rank()) continue;
    restore(trained_[i].name + ".first", slots_[i].first);
    if (!slots_[i].muon) restore(trained_[i].name + ".second", slots_[i].second);
  }
}

}  // namespace loci::train
