// SPDX-License-Identifier: Apache-2.0
#include "loci/sample/recording_encoder.h"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/camera/time_grid.h"
#include "loci/model/autoencoder/pixels.h"

namespace loci::sample {

namespace {

// Latents whose frames are converted to floating point at once, to bound memory.
constexpr int64_t kLatentsAtOnce = 8;

}  // namespace

RecordingEncoder::RecordingEncoder(const model::Vae& vae, const model::VaeTiling& tiling)
    : vae_(&vae), encoder_(vae, model::VaeStreamOptions{.tiling = tiling}) {}

at::Tensor RecordingEncoder::encode(const at::Tensor& frames) {
  LOCI_CHECK(frames.dim() == 4 && frames.size(0) > 0, "frames are [{}], expected [T, H, W, 3]",
             fmt::join(frames.sizes(), ", "));
  const at::NoGradGuard no_grad;
  const int64_t most = kLatentsAtOnce * vae_->config().temporal_factor();
  std::vector<at::Tensor> latents;
  for (int64_t begin = 0; begin < frames.size(0);) {
    check_interrupt();
    const bool first = encoder_.cache().latents() == 0;
    const int64_t count = std::min(first ? 1 : most, frames.size(0) - begin);
    latents.push_back(encoder_.encode(model::pixels_from_frames(frames.narrow(0, begin, count))));
    begin += count;
  }
  return latents.size() == 1 ? latents.front() : at::cat(latents, 2);
}

Chunk RecordingEncoder::accept(Stream& stream, const at::Tensor& frames,
                               std::span<const camera::Camera> cameras) {
  return stream.accept(encode(frames), cameras);
}

void RecordingEncoder::accept_all(Stream& stream, std::span<const camera::Camera> cameras,
                                  const ReadFrames& read, const TakeChunk& take) {
  const camera::TimeGrid grid = stream.time_grid(vae_->config().temporal_factor());
  const int64_t total = std::ssize(cameras);
  for (int64_t chunk = 0; grid.latents_of_chunk(chunk).begin < total; ++chunk) {
    check_interrupt();
    camera::IndexRange latents = grid.latents_of_chunk(chunk);
    latents.end = std::min(latents.end, total);
    const int64_t first = grid.frames_of_latent(latents.begin).begin;
    const int64_t count = grid.frames_of_latent(latents.end - 1).end - first;
    take(accept(stream, read(first, count), cameras.subspan(latents.begin, latents.size())));
  }
}

}  // namespace loci::sample
