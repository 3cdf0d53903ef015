// SPDX-License-Identifier: Apache-2.0
#include "loci/train/losses/adversarial_loss.h"

#include <algorithm>

#include <ATen/ATen.h>

namespace loci::train {

AdversarialConfig AdversarialConfig::from_section(const ConfigReader& reader) {
  AdversarialConfig c;
  c.weight = reader.get<double>("weight", c.weight, 0.0, 1e3);
  c.from = reader.get<int64_t>("from", c.from, 0, int64_t{1} << 40);
  c.adaptive = reader.get<bool>("adaptive", c.adaptive);
  c.learning_rate = reader.get<double>("learning_rate", c.learning_rate, 0.0, 1.0);
  c.channels = reader.get<int64_t>("channels", c.channels, 1, 1024);
  c.layers = reader.get<int64_t>("layers", c.layers, 1, 6);
  c.parts.stack = reader.get<int64_t>("stack", c.parts.stack, 1, 64);
  c.parts.number = reader.get<int64_t>("number", c.parts.number, 0, 1000);
  c.parts.crop = reader.get<int64_t>("crop", c.parts.crop, 0, 8192);
  return c;
}

Json AdversarialConfig::architecture() const {
  return {{"stack", parts.stack}, {"channels", channels}, {"layers", layers}};
}

at::Tensor discriminator_loss(const at::Tensor& recorded_scores, const at::Tensor& decoded_scores) {
  return 0.5 * (at::relu(1 - recorded_scores).mean() + at::relu(1 + decoded_scores).mean());
}

at::Tensor adversarial_loss(const at::Tensor& decoded_scores) { return -decoded_scores.mean(); }

double adaptive_factor(double norm_of_other_losses, double norm_of_adversarial_loss) {
  constexpr double kLargest = 1e4;
  return std::min(kLargest, norm_of_other_losses / (norm_of_adversarial_loss + 1e-8));
}

}  // namespace loci::train
