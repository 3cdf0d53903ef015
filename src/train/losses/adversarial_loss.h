// SPDX-License-Identifier: Apache-2.0
// Hinge losses of a discriminator and of the network that it judges.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"
#include "loci/train/losses/clip_parts.h"

namespace loci::train {

// The section "loss.adversarial" of a recipe.
struct AdversarialConfig {
  double weight = 0;  // of the loss; 0: there is no discriminator
  int64_t from = 0;   // the update at which the loss and the training of the discriminator begin
  // Whether the weight is multiplied by the ratio of the norms of two gradients at the last layer
  // of the decoder: that of all other losses of the pictures, and that of the adversarial loss.
  bool adaptive = true;
  double learning_rate = 2e-4;  // of the discriminator
  int64_t channels = 32;        // of the discriminator's first layer
  int64_t layers = 3;           // of stride 2, each with twice the channels of the one before
  // The discriminator sees several consecutive frames at once, so that it detects flicker.
  ClipPartsConfig parts{.stack = 3};

  static AdversarialConfig from_section(const ConfigReader& reader);
  // The keys that determine the shapes of the discriminator's weights.
  Json architecture() const;
};

// Scores are positive for pictures that seem to be recorded.
at::Tensor discriminator_loss(const at::Tensor& recorded_scores, const at::Tensor& decoded_scores);
at::Tensor adversarial_loss(const at::Tensor& decoded_scores);

// The factor of an adaptive weight. Limited, since the gradient of a saturated discriminator
// vanishes.
double adaptive_factor(double norm_of_other_losses, double norm_of_adversarial_loss);

}  // namespace loci::train
