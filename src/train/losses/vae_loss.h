// SPDX-License-Identifier: Apache-2.0
// What the video autoencoder is trained to minimise.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"
#include "loci/model/autoencoder/vae.h"

namespace loci::train {

struct VaeLossWeights {
  double l1 = 1;           // mean absolute difference of pixels in [-1, 1]
  double l2 = 0;           // mean square, which PSNR is made of
  double gradient = 0;     // see gradient_loss()
  double structure = 0.2;  // see structure_loss()
  // Mean over latent values of the divergence from a unit normal. It keeps the posterior wide
  // enough for the decoder to forgive small errors in latents: at 1e-3 the noise it buys lies some
  // 16 dB below the reconstruction's own error.
  double kl = 1e-3;

  static VaeLossWeights from(const ConfigReader& reader);
};

struct VaeLoss {
  at::Tensor total;
  double l1 = 0, structure = 0, kl = 0;  // before weighting
};

// Pixels [B, 3, T, H, W].
VaeLoss vae_loss(const at::Tensor& decoded, const at::Tensor& pixels,
                 const model::Vae::Posterior& posterior, const VaeLossWeights& weights);

// Mean absolute error of the differences between neighbouring pixels, rows plus columns: an edge
// where two blocks of a clear sky do not quite meet is little by any of the others, and the first
// thing that one sees.
at::Tensor gradient_loss(const at::Tensor& error);

// 1 - structural similarity (SSIM), the mean over three scales: full, half and quarter size.
// Windows are squares of 8 pixels, every 4 pixels, which is what training needs of it at 1/16 of
// the cost.
at::Tensor structure_loss(const at::Tensor& a, const at::Tensor& b);

// A sample of the posterior, with noise of the posterior's shape.
at::Tensor sample_posterior(const model::Vae::Posterior& posterior, const at::Tensor& noise);

// Peak signal to noise ratio in dB of uint8 frames [T, H, W, 3].
double psnr(const at::Tensor& a, const at::Tensor& b);

}  // namespace loci::train
