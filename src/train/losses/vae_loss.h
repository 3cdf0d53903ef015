// SPDX-License-Identifier: Apache-2.0
// The loss of the video autoencoder.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"
#include "loci/model/autoencoder/vae.h"

namespace loci::train {

struct VaeLossWeights {
  double l1 = 1;           // mean absolute difference of pixels in [-1, 1]
  double l2 = 0;           // mean squared difference, from which PSNR is computed
  double gradient = 0;     // see gradient_loss()
  double structure = 0.2;  // see structure_loss()
  // See kl_loss(). It keeps the posterior wide enough for the decoder to tolerate small errors in
  // latents. At 1e-3 the resulting noise is about 16 dB below the reconstruction error.
  double kl = 1e-3;

  static VaeLossWeights from(const ConfigReader& reader);
};

// The losses of decoded pixels [B, 3, T, H, W], without a discriminator's.
struct ReconstructionLoss {
  at::Tensor total;              // weighted sum
  double l1 = 0, structure = 0;  // before weighting
};
ReconstructionLoss reconstruction_loss(const at::Tensor& decoded, const at::Tensor& pixels,
                                       const VaeLossWeights& weights);

// Mean KL divergence of a latent value from a standard normal distribution.
at::Tensor kl_loss(const model::Vae::Posterior& posterior);

// Mean absolute error of the differences between neighbouring pixels, rows plus columns. It
// penalises faint edges between blocks in smooth areas, which are visible although their other
// losses are small.
at::Tensor gradient_loss(const at::Tensor& error);

// 1 - structural similarity (SSIM), mean over three scales: full, half and quarter size. The
// windows are squares of 8 pixels with a stride of 4 pixels, at 1/16 of the cost of a stride of 1.
at::Tensor structure_loss(const at::Tensor& a, const at::Tensor& b);

// A sample of the posterior. `noise` is standard normal, of the posterior's shape.
at::Tensor sample_posterior(const model::Vae::Posterior& posterior, const at::Tensor& noise);

// Peak signal-to-noise ratio in dB of uint8 frames [T, H, W, 3].
double psnr(const at::Tensor& a, const at::Tensor& b);

}  // namespace loci::train
