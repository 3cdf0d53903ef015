// SPDX-License-Identifier: Apache-2.0
#include "loci/train/guessed_past.h"

#include <ATen/ATen.h>

#include "loci/base/random.h"
#include "loci/train/window_pass.h"

namespace loci::train {

namespace {

constexpr double kGuessedShare = 0.5;  // of chunks
constexpr double kLeastNoise = 0.4;    // of a chunk that is guessed
constexpr double kMostNoiseOfOthers = 0.2;

}  // namespace

std::vector<bool> guess_past(const model::Transformer& transformer, Window& window,
                             const HistoryAccessConfig& history, const at::Tensor& text,
                             uint64_t key) {
  const at::NoGradGuard no_grad;
  const model::TransformerConfig& config = transformer.config();
  const int64_t chunk = config.chunk_size, chunks = (window.latents.size(1) - 1) / chunk;
  Random random{key, 0x6775657373};
  std::vector<bool> guessed;
  ChunkNoise noise;
  noise.weights.assign(static_cast<size_t>(chunks), 1.0);
  for (int64_t i = 0; i < chunks; ++i) {
    guessed.push_back(random.chance(kGuessedShare));
    noise.levels.push_back(guessed.back() ? random.uniform(kLeastNoise, 1)
                                          : random.uniform(0, kMostNoiseOfOthers));
  }
  const WindowPass pass =
      prepare_window(window, config, noise, history, 0, hash_keys({key, 1}), transformer.device());
  const at::Tensor velocity = run_window(transformer, pass, text);
  for (int64_t i = 0; i < chunks; ++i) {
    if (!guessed[static_cast<size_t>(i)]) continue;
    const auto part = [&](const at::Tensor& all) {
      return all[0].narrow(1, 1 + i * chunk, chunk).to(at::kCPU, at::kFloat);
    };
    window.latents.narrow(1, 1 + i * chunk, chunk)
        .copy_(part(pass.batch.latents) - noise.levels[static_cast<size_t>(i)] * part(velocity));
  }
  return guessed;
}

}  // namespace loci::train
