// SPDX-License-Identifier: Apache-2.0
// Weights of the latent channels in the loss, by their effect on the decoded frames.
//
// Latents are normalised per channel, so without weights a channel that hardly changes the picture
// counts as much as one that sets its brightness. In a small autoencoder their effects differ by a
// factor of 70, and a small transformer would spend most of its capacity on invisible detail.
#pragma once

#include <filesystem>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"
#include "loci/model/autoencoder/vae.h"
#include "loci/train/data/window.h"
#include "loci/train/distributed/communicator.h"

namespace loci::train {

struct ChannelWeightsConfig {
  std::filesystem::path vae;  // folder of the autoencoder; empty: equal weights
  // Exponent of the squared pixel error that noise in a channel causes. 0: equal weights; 1: latent
  // errors count like pixel errors.
  double power = 0.75;

  static ChannelWeightsConfig from(const ConfigReader& reader);
};

// Returns [C], FP32, mean 1. The squared pixel error is measured on a few windows of `source`, with
// noise of half a standard deviation in one channel at a time. Every rank measures a part of the
// channels; all get the same weights.
at::Tensor decoder_channel_weights(const model::Vae& vae, const WindowSource& source, double power,
                                   Communicator& communicator);

// The standard deviation of every channel over some windows of `source`.
std::vector<double> channel_deviations(const WindowSource& source);

}  // namespace loci::train
