// SPDX-License-Identifier: Apache-2.0
// Weights of the latent's channels in the loss, by what the decoder makes of them.
//
// Latents are normalised channel by channel, so a channel that hardly changes the picture counts as
// much as one that sets its brightness. In a small autoencoder the two differ by a factor of 70,
// and a small transformer spends most of its capacity on what nobody sees.
#pragma once

#include <filesystem>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"
#include "loci/model/autoencoder/vae.h"
#include "loci/train/distributed/communicator.h"
#include "loci/train/windows/window.h"

namespace loci::train {

struct ChannelWeightsConfig {
  std::filesystem::path vae;  // folder of the autoencoder; empty: all channels count alike
  // Of the pixels' squared error that noise in one channel causes: 0 is no weighting, 1 weighs
  // latent errors like errors of pixels.
  double power = 0.75;

  static ChannelWeightsConfig from(const ConfigReader& reader);
};

// [C], FP32, mean 1. The pixels' squared error is measured on a few windows of `source`, with noise
// of half a standard deviation in one channel at a time; the ranks share the channels out and all
// get the same weights.
at::Tensor decoder_channel_weights(const model::Vae& vae, const WindowSource& source, double power,
                                   Communicator& communicator);

// The deviation of every channel over some windows of `source`.
std::vector<double> channel_deviations(const WindowSource& source);

}  // namespace loci::train
