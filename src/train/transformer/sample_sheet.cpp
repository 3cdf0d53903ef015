// SPDX-License-Identifier: Apache-2.0
#include "loci/train/transformer/sample_sheet.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "loci/camera/time_grid.h"
#include "loci/model/autoencoder/pixels.h"
#include "loci/model/autoencoder/vae_stream.h"
#include "loci/train/windows/rollout.h"
#include "loci/train/windows/target_chunks.h"
#include "loci/world/recording/contact_sheet.h"

namespace loci::train {

namespace {

constexpr size_t kWindows = 3;
constexpr int64_t kColumns = 5;

// Frames [columns, H, W, 3], evenly spaced over the last chunk.
at::Tensor last_chunk(const model::Vae& vae, const at::Tensor& latents, int64_t chunk_size) {
  const at::Tensor frames =
      model::frames_from_pixels(model::VaeDecoder(vae).decode(latents.unsqueeze(0)));
  const camera::TimeGrid grid{vae.config().temporal_factor(), chunk_size};
  const int64_t count = grid.frames_per_chunk(), first = frames.size(0) - count;
  std::vector<int64_t> shown;
  for (int64_t k = 1; k <= kColumns; ++k) {
    shown.push_back(first + std::max<int64_t>(0, k * count / kColumns - 1));
  }
  return frames.index_select(0, at::tensor(shown, at::kLong));
}

}  // namespace

at::Tensor sample_sheet(const model::Transformer& transformer, const CaptionEncoder& captions,
                        const WindowSource& source, const ValidationConfig& config,
                        int64_t window_frames, uint64_t seed) {
  const at::NoGradGuard no_grad;
  const int64_t chunk = transformer.config().chunk_size;
  std::vector<std::pair<double, uint64_t>> candidates;  // gap, index
  for (int64_t i = 0; i < config.windows; ++i) {
    const auto index = static_cast<uint64_t>(i);
    const auto gaps = return_gaps(source.window(index, window_frames), chunk);
    candidates.emplace_back(gaps.back().value_or(0), index);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  candidates.resize(std::min(kWindows, candidates.size()));

  const model::Vae vae = model::Vae::load(config.vae);
  std::vector<at::Tensor> pictures;
  for (const auto& [gap, index] : candidates) {
    const Window window = source.window(index, window_frames);
    const at::Tensor generated =
        continue_window(transformer, window, window_frames - chunk, captions.encode(window.caption),
                        config.steps, seed + index);
    for (const at::Tensor& latents : {window.latents, generated}) {
      for (const at::Tensor& frame : last_chunk(vae, latents, chunk).unbind(0)) {
        pictures.push_back(frame);
      }
    }
  }
  return world::tile_pictures(pictures, static_cast<int>(kColumns));
}

}  // namespace loci::train
