// SPDX-License-Identifier: Apache-2.0
#include "loci/train/data/encode_clip.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/camera/path/resample.h"
#include "loci/camera/time_grid.h"
#include "loci/model/autoencoder/pixels.h"
#include "loci/sample/recording_encoder.h"

namespace loci::train {

namespace {

// Images encoded in one call: enough work for the convolutions, little memory.
constexpr int64_t kLatentsAtOnce = 8;

}  // namespace

LatentClip encode_clip(const model::Vae& vae, const world::Clip& clip) {
  const at::NoGradGuard no_grad;
  const camera::TimeGrid grid{vae.config().temporal_factor()};
  const int64_t frames = clip.frames.size(0), factor = grid.frames_per_latent;
  if (!grid.whole_latents(frames)) {
    fail("a clip of {} frames cannot be encoded; expected 1 + a multiple of {}", frames, factor);
  }
  const int64_t latents = grid.latents_in_frames(frames);
  LatentClip out;
  out.caption = clip.caption;
  out.cameras = camera::latent_cameras(clip.trajectory.cameras, grid);
  out.latents = sample::RecordingEncoder(vae).encode(clip.frames).squeeze(0).to(at::kBFloat16);

  std::vector<at::Tensor> images;
  for (int64_t begin = 0; begin < latents; begin += kLatentsAtOnce) {
    check_interrupt();
    const int64_t size = std::min(kLatentsAtOnce, latents - begin);
    // [1, 3, n, H, W] → [n, 3, 1, H, W]: every image a clip of its own.
    const at::Tensor alone = model::pixels_from_frames(
                                 clip.frames.slice(0, grid.camera_frame(begin),
                                                   grid.camera_frame(begin + size - 1) + 1, factor))
                                 .transpose(0, 2);
    images.push_back(vae.normalise(vae.encode(alone).mean).squeeze(2));
  }
  out.images = at::cat(images, 0).transpose(0, 1).contiguous().to(at::kBFloat16);
  return out;
}

}  // namespace loci::train
