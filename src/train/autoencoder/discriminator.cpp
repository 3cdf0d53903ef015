// SPDX-License-Identifier: Apache-2.0
#include "loci/train/autoencoder/discriminator.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/error.h"
#include "loci/base/random.h"

namespace loci::train {

namespace {

constexpr double kSlope = 0.2;        // of the leaky ReLU for negative inputs
constexpr int kFirstIterations = 15;  // from random vectors

at::Tensor unit(const at::Tensor& vector) { return vector / (vector.norm() + 1e-12); }

}  // namespace

Discriminator::Discriminator(const AdversarialConfig& config, uint64_t seed)
    : parameters_({.seed = seed}) {
  const at::NoGradGuard no_grad;
  const model::Scope scope(parameters_, "discriminator");
  const auto add = [&](int64_t in, int64_t out, int64_t kernel, int64_t stride) {
    const model::Scope here = scope[static_cast<int64_t>(layers_.size())];
    Layer layer;
    layer.weight = here.parameter("weight", {out, in, kernel, kernel},
                                  model::init::fan_in(in * kernel * kernel));
    layer.bias = here.parameter("bias", {out}, model::init::zeros);
    layer.stride = stride;
    at::Generator random = at::make_generator<at::CPUGeneratorImpl>(
        hash_keys({seed, 0x706f776572, static_cast<uint64_t>(layers_.size())}));
    layer.left = unit(at::randn({out}, random, at::kFloat));
    layers_.push_back(std::move(layer));
  };
  int64_t in = 3 * config.parts.stack, out = config.channels;
  for (int64_t i = 0; i < config.layers; ++i) {
    add(in, out, 4, 2);
    in = out;
    out *= 2;
  }
  add(in, in, 3, 1);
  add(in, 1, 3, 1);
  for (int i = 0; i < kFirstIterations; ++i) iterate();
}

void Discriminator::set_right(Layer& layer) const {
  layer.right = unit(at::mv(layer.weight.detach().flatten(1).t(), layer.left));
}

void Discriminator::iterate() {
  const at::NoGradGuard no_grad;
  for (Layer& layer : layers_) {
    set_right(layer);
    layer.left = unit(at::mv(layer.weight.flatten(1), layer.right));
  }
}

at::Tensor Discriminator::normalised(const Layer& layer) {
  return layer.weight / at::dot(layer.left, at::mv(layer.weight.flatten(1), layer.right));
}

at::Tensor Discriminator::operator()(const at::Tensor& pictures, at::ScalarType compute) const {
  at::Tensor x = pictures.to(compute).contiguous(at::MemoryFormat::ChannelsLast);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const at::Tensor weight = normalised(layer).to(compute);
    x = at::conv2d(x, weight, layer.bias.to(compute), layer.stride, /*padding=*/1);
    if (i + 1 < layers_.size()) x = at::leaky_relu(x, kSlope);
  }
  return x.to(at::kFloat);
}

io::NamedTensors Discriminator::state() const {
  io::NamedTensors state;
  for (const model::Parameter& each : parameters_.all()) {
    state.emplace_back(each.name, each.tensor.detach().clone());
  }
  for (size_t i = 0; i < layers_.size(); ++i) {
    state.emplace_back(fmt::format("discriminator.{}.left", i), layers_[i].left);
  }
  return state;
}

void Discriminator::load_state(const io::SafetensorsFile& state, const std::string& source) {
  const at::NoGradGuard no_grad;
  const auto restore = [&](const std::string& name, const at::Tensor& held) {
    if (!state.has(name) || at::IntArrayRef(state.info(name).shape) != held.sizes()) {
      fail("{} has no '{}' of the right size; resume with the recipe of the run", source, name);
    }
    held.copy_(state.tensor(name));
  };
  for (const model::Parameter& each : parameters_.all()) restore(each.name, each.tensor);
  for (size_t i = 0; i < layers_.size(); ++i) {
    restore(fmt::format("discriminator.{}.left", i), layers_[i].left);
    set_right(layers_[i]);
  }
}

}  // namespace loci::train
