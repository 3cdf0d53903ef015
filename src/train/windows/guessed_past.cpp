// SPDX-License-Identifier: Apache-2.0
#include "loci/train/windows/guessed_past.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "loci/base/random.h"

namespace loci::train {

namespace {

constexpr double kGuessedShare = 0.5;  // of chunks
// Of a guessed chunk. Above 1 it is noise alone, as a stream asks in one step: 7 of 10 are.
constexpr double kLeastNoise = 0.4, kMostNoise = 2.4;
constexpr double kMostNoiseOfOthers = 0.2;

}  // namespace

GuessedPast guess_past(const model::Transformer& transformer, const Window& window,
                       const HistoryAccessConfig& history, const at::Tensor& text, uint64_t key) {
  const at::NoGradGuard no_grad;
  const model::TransformerConfig& config = transformer.config();
  const int64_t chunk = config.chunk_size, chunks = (window.latents.size(1) - 1) / chunk;
  Random random{key, 0x6775657373};
  GuessedPast guess{window.latents.clone(), {}};
  ChunkNoise noise;
  noise.weights.assign(static_cast<size_t>(chunks), 1.0);
  for (int64_t i = 0; i < chunks; ++i) {
    guess.chunks.push_back(random.chance(kGuessedShare));
    noise.levels.push_back(guess.chunks.back()
                               ? std::min(1.0, random.uniform(kLeastNoise, kMostNoise))
                               : random.uniform(0, kMostNoiseOfOthers));
  }
  const WindowPass pass =
      prepare_window(window, config, noise, history, 0, hash_keys({key, 1}), transformer.device());
  const at::Tensor velocity = run_window(transformer, pass, text);
  for (int64_t i = 0; i < chunks; ++i) {
    if (!guess.chunks[static_cast<size_t>(i)]) continue;
    const auto part = [&](const at::Tensor& all) {
      return all[0].narrow(1, 1 + i * chunk, chunk).to(at::kCPU, at::kFloat);
    };
    guess.latents.narrow(1, 1 + i * chunk, chunk)
        .copy_(part(pass.batch.latents) - noise.levels[static_cast<size_t>(i)] * part(velocity));
  }
  return guess;
}

}  // namespace loci::train
