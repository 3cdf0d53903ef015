// SPDX-License-Identifier: Apache-2.0
#include "loci/train/autoencoder/latent_generator.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/camera/path/resample.h"
#include "loci/camera/time_grid.h"
#include "loci/train/windows/generated_past.h"

namespace loci::train {

LatentGenerator::LatentGenerator(const std::filesystem::path& folder, at::ScalarType compute)
    : folder_(folder, compute) {}

void LatentGenerator::check_clip(int64_t frames, const model::VaeConfig& vae) const {
  const camera::TimeGrid grid{vae.temporal_factor(), folder_.config().chunk_size};
  const int64_t step = grid.frames_per_chunk();
  if (frames <= 1 || frames != grid.frames_in_chunks(grid.chunks_in_frames(frames))) {
    fail(
        "{} generates chunks of {} frames after a first frame, but a clip has {} frames; choose 1 "
        "+ "
        "a multiple of {}, e.g. {}",
        folder_.path().string(), step, frames, step, grid.frames_in_chunks(3));
  }
  if (folder_.config().channels != vae.z_dim) {
    fail(
        "the latents of {} have {} channels, those of the autoencoder {}; choose a model that was "
        "trained on this autoencoder's latents",
        folder_.path().string(), folder_.config().channels, vae.z_dim);
  }
}

at::Tensor LatentGenerator::generate(const model::Vae& vae, const at::Tensor& latents,
                                     const world::Clip& clip, uint64_t key) const {
  const at::NoGradGuard no_grad;
  Window window;
  window.latents = vae.normalise(latents).squeeze(0);
  window.cameras = camera::latent_cameras(clip.trajectory.cameras,
                                          camera::TimeGrid{vae.config().temporal_factor()});
  window.cameras.resize(static_cast<size_t>(latents.size(2)));
  const at::Tensor text = folder_.has_text_encoder()
                              ? folder_.prompt(clip.caption, "").embedding.unsqueeze(0)
                              : at::zeros({1, 1, folder_.config().text_dim});
  const GeneratedPast past = generate_past(folder_.transformer(), window, {}, text, key);
  return vae.denormalise(past.latents.unsqueeze(0));
}

}  // namespace loci::train
