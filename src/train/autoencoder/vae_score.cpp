// SPDX-License-Identifier: Apache-2.0
#include "loci/train/autoencoder/vae_score.h"

#include <numeric>

#include <ATen/ATen.h>

#include "loci/io/media/image_statistics.h"
#include "loci/model/autoencoder/pixels.h"
#include "loci/train/losses/vae_loss.h"

namespace loci::train {

namespace {

std::vector<double> to_list(const at::Tensor& values) {
  const at::Tensor wide = values.to(at::kDouble).contiguous();
  return {wide.data_ptr<double>(), wide.data_ptr<double>() + wide.numel()};
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Of the means over a clip: single frames can have next to no detail. 1 if the recording has none.
double ratio(const std::vector<double>& reconstructed, const std::vector<double>& recorded) {
  const double whole = mean(recorded);
  return whole > 0 ? mean(reconstructed) / whole : 1;
}

}  // namespace

VaeScore score_autoencoder(const model::Vae& vae, VideoClips& clips,
                           const VaeValidationConfig& config, const LatentGenerator* generator,
                           const model::Lpips* lpips) {
  const at::NoGradGuard no_grad;
  VaeScore score;
  std::vector<at::Tensor> means, deviations;
  for (int64_t i = 0; i < config.clips; ++i) {
    const auto number = static_cast<uint64_t>(i);
    const world::Clip clip = clips.clip(number, config.frames);
    const at::Tensor& frames = clip.frames;
    const at::Tensor pixels = model::pixels_from_frames(frames);
    const model::Vae::Posterior posterior = vae.encode(pixels);
    const at::Tensor decoded = vae.decode(posterior.mean).clamp(-1, 1);
    const at::Tensor reconstructed = model::frames_from_pixels(decoded);
    const auto share = 1.0 / static_cast<double>(config.clips);
    score.psnr += share * psnr(reconstructed, frames);
    if (generator != nullptr) {
      const at::Tensor latents = generator->generate(vae, posterior.mean, clip, number);
      score.generated_psnr = score.generated_psnr.value_or(0) +
                             share * psnr(model::frames_from_pixels(vae.decode(latents)), frames);
    }
    score.first_psnr += share * psnr(reconstructed[0], frames[0]);
    score.structure += share * structure_loss(decoded, pixels).item<double>();
    score.sharpness += share * ratio(io::sharpness(reconstructed), io::sharpness(frames));
    score.contrast += share * ratio(io::contrast(reconstructed), io::contrast(frames));
    if (lpips != nullptr) {
      score.lpips = score.lpips.value_or(0) + share * mean(lpips->distance(reconstructed, frames));
    }
    means.push_back(posterior.mean.transpose(0, 1).flatten(1));  // [z, latents * h * w]
    deviations.push_back(at::exp(0.5 * posterior.log_variance).transpose(0, 1).flatten(1));
  }
  const at::Tensor all = at::cat(means, 1);
  const at::Tensor deviation = all.std(1).clamp_min(1e-3);
  score.mean = to_list(all.mean(1));
  score.deviation = to_list(deviation);
  score.posterior_deviation = (at::cat(deviations, 1).mean(1) / deviation).mean().item<double>();
  return score;
}

}  // namespace loci::train
