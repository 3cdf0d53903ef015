// SPDX-License-Identifier: Apache-2.0
#include "loci/train/autoencoder/adversary.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "loci/base/error.h"
#include "loci/base/random.h"

namespace loci::train {

namespace {

// A momentum of 0.5 is usual for discriminators, because their task changes with every update.
OptimizerConfig optimizer_config(const AdversarialConfig& config,
                                 const OptimizerConfig& generator) {
  OptimizerConfig own;
  own.kind = "adamw";
  own.learning_rates = {{ParameterGroup::kBackbone, config.learning_rate}};
  own.beta1 = 0.5;
  own.beta2 = 0.99;
  own.clip = 1;
  own.warmup_updates = 0;
  own.decay_updates = std::max<int64_t>(1, generator.decay_updates - config.from);
  own.final_share = generator.final_share;
  return own;
}

}  // namespace

Adversary::Adversary(const AdversarialConfig& config, const OptimizerConfig& generator,
                     uint64_t seed, at::ScalarType compute, Communicator& communicator)
    : config_(config),
      compute_(compute),
      discriminator_(config, hash_keys({seed, 0x637269746963})),
      optimizer_(optimizer_config(config, generator), discriminator_.parameters(), communicator) {}

Adversary::Result Adversary::update(int64_t update, const at::Tensor& decoded,
                                    const at::Tensor& recorded, std::span<const uint64_t> keys) {
  const ClipParts parts(config_.parts, decoded.sizes(), keys);
  const at::Tensor leaf = decoded.detach().requires_grad_(true);
  const at::Tensor judged = parts.of(leaf);
  Result result;
  {
    const int64_t count = judged.size(0);
    discriminator_.iterate();
    optimizer_.zero_gradients();
    const at::Tensor scores =
        discriminator_(at::cat({parts.of(recorded), judged.detach()}), compute_);
    const at::Tensor loss =
        discriminator_loss(scores.narrow(0, 0, count), scores.narrow(0, count, count));
    optimizer_.arm();
    loss.backward();
    result.discriminator = loss.item<double>();
    const double norm = optimizer_.step(update - config_.from);
    if (!std::isfinite(norm)) {
      fail_check(
          "the gradient of the discriminator at update {} is not finite (first in {}): lower "
          "loss.adversarial.learning_rate and resume from the last checkpoint",
          update + 1, optimizer_.not_finite_gradient());
    }
  }
  result.loss = adversarial_loss(discriminator_(judged, compute_));
  // Only with respect to the pictures: gradients of the discriminator are not computed.
  result.gradient = torch::autograd::grad({result.loss}, {leaf}).front();
  result.loss = result.loss.detach();
  return result;
}

io::NamedTensors Adversary::state() {
  io::NamedTensors state = discriminator_.state();
  for (auto& [name, tensor] : optimizer_.state()) state.emplace_back(name, tensor);
  return state;
}

void Adversary::load_state(const io::SafetensorsFile& state, const std::string& source) {
  discriminator_.load_state(state, source);
  optimizer_.load_state(state);
}

}  // namespace loci::train
