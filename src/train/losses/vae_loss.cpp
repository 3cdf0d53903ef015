// SPDX-License-Identifier: Apache-2.0
#include "loci/train/losses/vae_loss.h"

#include <cmath>

#include <ATen/ATen.h>

namespace loci::train {

namespace {

// Keeps the exponential within the range of float. Only the first updates come near these limits.
constexpr double kMinLogVariance = -30, kMaxLogVariance = 20;

at::Tensor window_mean(const at::Tensor& x) { return at::avg_pool2d(x, {8, 8}, {4, 4}); }

// Mean SSIM of images [N, 3, H, W] in [-1, 1].
at::Tensor mean_ssim(const at::Tensor& a, const at::Tensor& b) {
  constexpr double kRange = 2, kC1 = 0.01 * kRange * 0.01 * kRange,
                   kC2 = 0.03 * kRange * 0.03 * kRange;
  const at::Tensor mean_a = window_mean(a), mean_b = window_mean(b);
  const at::Tensor product = mean_a * mean_b;
  const at::Tensor squares = mean_a.square() + mean_b.square();
  const at::Tensor covariance = window_mean(a * b) - product;
  const at::Tensor variances = window_mean(a.square() + b.square()) - squares;
  return ((2 * product + kC1) / (squares + kC1) * (2 * covariance + kC2) / (variances + kC2))
      .mean();
}

}  // namespace

VaeLossWeights VaeLossWeights::from(const ConfigReader& reader) {
  VaeLossWeights weights;
  weights.l1 = reader.get<double>("l1", weights.l1, 0.0, 1e3);
  weights.l2 = reader.get<double>("l2", weights.l2, 0.0, 1e3);
  weights.gradient = reader.get<double>("gradient", weights.gradient, 0.0, 1e3);
  weights.structure = reader.get<double>("structure", weights.structure, 0.0, 1e3);
  weights.kl = reader.get<double>("kl", weights.kl, 0.0, 1e3);
  return weights;
}

at::Tensor structure_loss(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor x = a.transpose(1, 2).flatten(0, 1), y = b.transpose(1, 2).flatten(0, 1);
  at::Tensor sum;
  int64_t scales = 0;
  for (int scale = 0; scale < 3 && std::min(x.size(2), x.size(3)) >= 8; ++scale) {
    if (scale > 0) {
      x = at::avg_pool2d(x, {2, 2});
      y = at::avg_pool2d(y, {2, 2});
      if (std::min(x.size(2), x.size(3)) < 8) break;
    }
    const at::Tensor loss = 1 - mean_ssim(x, y);
    sum = sum.defined() ? sum + loss : loss;
    ++scales;
  }
  return sum.defined() ? sum / scales : at::zeros({}, a.options());
}

at::Tensor gradient_loss(const at::Tensor& error) {
  return error.diff(1, 3).abs().mean() + error.diff(1, 4).abs().mean();
}

at::Tensor sample_posterior(const model::Vae::Posterior& posterior, const at::Tensor& noise) {
  const at::Tensor log_variance = posterior.log_variance.clamp(kMinLogVariance, kMaxLogVariance);
  return posterior.mean + at::exp(0.5 * log_variance) * noise;
}

ReconstructionLoss reconstruction_loss(const at::Tensor& decoded, const at::Tensor& pixels,
                                       const VaeLossWeights& weights) {
  const at::Tensor error = decoded - pixels;
  const at::Tensor l1 = error.abs().mean();
  const at::Tensor structure = structure_loss(decoded, pixels);
  ReconstructionLoss loss;
  loss.total = weights.l1 * l1 + weights.structure * structure;
  if (weights.gradient > 0) loss.total = loss.total + weights.gradient * gradient_loss(error);
  if (weights.l2 > 0) loss.total = loss.total + weights.l2 * error.square().mean();
  loss.l1 = l1.item<double>();
  loss.structure = structure.item<double>();
  return loss;
}

at::Tensor kl_loss(const model::Vae::Posterior& posterior) {
  const at::Tensor log_variance = posterior.log_variance.clamp(kMinLogVariance, kMaxLogVariance);
  return 0.5 * (posterior.mean.square() + log_variance.exp() - 1 - log_variance).mean();
}

double psnr(const at::Tensor& a, const at::Tensor& b) {
  const double error = (a.to(at::kDouble) - b.to(at::kDouble)).square().mean().item<double>();
  return error == 0 ? 120.0 : 10 * std::log10(255.0 * 255.0 / error);
}

}  // namespace loci::train
