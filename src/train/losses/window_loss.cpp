// SPDX-License-Identifier: Apache-2.0
#include "loci/train/losses/window_loss.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/camera/time_grid.h"
#include "loci/model/transformer/model_maps.h"

namespace loci::train {

NoisedBatch noise_windows(const at::Tensor& clean, const std::vector<std::vector<double>>& levels,
                          const at::Tensor& noise, int64_t chunk_size) {
  const int64_t batch = clean.size(0), frames = clean.size(2);
  LOCI_CHECK(static_cast<int64_t>(levels.size()) == batch,
             "{} lists of noise levels for {} windows", levels.size(), batch);
  at::Tensor sigma = at::zeros({batch, frames}, at::kFloat);
  const auto chunks = static_cast<int64_t>(levels.front().size());
  const camera::TimeGrid grid{.latents_per_chunk = chunk_size};
  LOCI_CHECK(grid.latents_in_chunks(1 + chunks) == frames, "{} noise levels for {} frames", chunks,
             frames);
  NoisedBatch out;
  out.levels = at::empty({batch, chunks}, at::kFloat);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t c = 0; c < chunks; ++c) {
      out.levels[b][c] = levels[b][c];
      sigma[b].narrow(0, grid.latents_of_chunk(1 + c).begin, chunk_size).fill_(levels[b][c]);
    }
  }
  const at::Tensor mix = sigma.view({batch, 1, frames, 1, 1});
  out.latents = at::lerp(clean, noise, mix);
  out.timesteps = sigma * 1000;
  out.target = noise - clean;
  return out;
}

model::TokenMaps window_maps(const Window& window, std::span<const int64_t> frames,
                             const std::vector<model::ChunkSpan>& chunks,
                             const model::TransformerConfig& config) {
  const camera::TokenGrid grid = config.grid(window.latents.size(2), window.latents.size(3));
  std::vector<int64_t> starts;
  for (const model::ChunkSpan& chunk : chunks) starts.push_back(chunk.begin);
  const std::vector<camera::Camera> relative = camera::relative_to_first(window.cameras);
  std::vector<camera::Camera> cameras;
  for (const int64_t frame : frames) cameras.push_back(relative[static_cast<size_t>(frame)]);
  const std::vector<double> times(frames.begin(), frames.end());
  return model::model_maps(config, cameras, starts, times, grid);
}

at::Tensor chunk_losses(const at::Tensor& velocity, const at::Tensor& target, int64_t chunk_size,
                        const LossOptions& options) {
  at::Tensor error = (velocity - target.to(velocity.scalar_type())).square();
  if (options.channel_weights.defined())
    error = error * options.channel_weights.to(error.device()).view({1, -1, 1, 1, 1});
  at::Tensor frames = error.narrow(2, 1, error.size(2) - 1).mean({1, 3, 4});
  if (options.log_above > 0) {
    frames = options.log_above * (frames / options.log_above).log1p();
  }
  return frames.unflatten(1, {-1, chunk_size}).mean(2);
}

}  // namespace loci::train
