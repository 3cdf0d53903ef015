// SPDX-License-Identifier: Apache-2.0
#include "loci/train/window_loss.h"

#include <numeric>

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::train {

NoisedBatch noise_windows(std::span<const Window> windows,
                          const std::vector<std::vector<double>>& levels, const at::Tensor& noise,
                          int64_t chunk_size) {
  const auto batch = static_cast<int64_t>(windows.size());
  LOCI_CHECK(static_cast<int64_t>(levels.size()) == batch, "{} lists of levels for {} windows",
             levels.size(), batch);
  std::vector<at::Tensor> clean;
  for (const Window& window : windows) clean.push_back(window.latents);
  const at::Tensor x0 = at::stack(clean);
  const int64_t frames = x0.size(2);
  at::Tensor sigma = at::zeros({batch, frames}, at::kFloat);
  const auto chunks = static_cast<int64_t>(levels.front().size());
  LOCI_CHECK(1 + chunks * chunk_size == frames, "{} levels for {} frames", chunks, frames);
  NoisedBatch out;
  out.levels = at::empty({batch, chunks}, at::kFloat);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t c = 0; c < chunks; ++c) {
      out.levels[b][c] = levels[b][c];
      sigma[b].narrow(0, 1 + c * chunk_size, chunk_size).fill_(levels[b][c]);
    }
  }
  const at::Tensor mix = sigma.view({batch, 1, frames, 1, 1});
  out.latents = at::lerp(x0, noise, mix);
  out.timesteps = sigma * 1000;
  out.target = noise - x0;
  return out;
}

model::TokenMaps window_maps(std::span<const Window> windows,
                             const model::TransformerConfig& config) {
  const at::Tensor& latents = windows.front().latents;
  const camera::TokenGrid grid = config.grid(latents.size(2), latents.size(3));
  const auto frames = static_cast<int64_t>(windows.front().poses.size());
  std::vector<int64_t> starts;
  for (const model::ChunkSpan& chunk : model::window_chunks(frames, config.chunk_size)) {
    starts.push_back(chunk.begin);
  }
  std::vector<camera::FrameGeometry> geometries;
  for (const Window& window : windows) {
    geometries.push_back(camera::frame_geometry(camera::relative_to_first(window.poses),
                                                window.lenses, starts, grid,
                                                config.kda_translation_scale));
  }
  std::vector<double> times(frames);
  std::iota(times.begin(), times.end(), 0.0);
  return model::make_token_maps(geometries, times, config.projective());
}

at::Tensor chunk_losses(const at::Tensor& velocity, const at::Tensor& target, int64_t chunk_size,
                        const at::Tensor& channel_weights) {
  at::Tensor error = (velocity - target.to(velocity.scalar_type())).square();
  if (channel_weights.defined())
    error = error * channel_weights.to(error.device()).view({1, -1, 1, 1, 1});
  return error.narrow(2, 1, error.size(2) - 1).unflatten(2, {-1, chunk_size}).mean({1, 3, 4, 5});
}

}  // namespace loci::train
