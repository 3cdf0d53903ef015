// SPDX-License-Identifier: Apache-2.0
#include "loci/train/windows/generated_past.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "loci/base/random.h"
#include "loci/camera/time_grid.h"
#include "loci/train/windows/window_pass.h"

namespace loci::train {

namespace {

// Keys of the random sequences: "past" and "guess" in ASCII.
constexpr uint64_t kSequencePast = 0x70617374, kSequenceGenerated = 0x6775657373;

constexpr double kGeneratedShare = 0.5;  // of the chunks
// Noise level of a generated chunk. Values above 1 mean pure noise, as in one-step sampling; this
// is the case for 70 % of the chunks.
constexpr double kMinNoise = 0.4, kMaxNoise = 2.4;
constexpr double kMaxNoiseOfOthers = 0.2;

}  // namespace

GeneratedPast generate_past(const model::Transformer& transformer, const Window& window,
                            const HistoryConfig& history, const at::Tensor& text, uint64_t key) {
  const at::NoGradGuard no_grad;
  const model::TransformerConfig& config = transformer.config();
  const camera::TimeGrid grid{.latents_per_chunk = config.chunk_size};
  const int64_t chunks = grid.chunks_in_latents(window.latents.size(1)) - 1;
  Random random{key, kSequenceGenerated};
  GeneratedPast past{window.latents.clone(), {}};
  WindowPlan plan;
  plan.noise.weights.assign(static_cast<size_t>(chunks), 1.0);
  for (int64_t i = 0; i < chunks; ++i) {
    past.chunks.push_back(random.chance(kGeneratedShare));
    plan.noise.levels.push_back(past.chunks.back()
                                    ? std::min(1.0, random.uniform(kMinNoise, kMaxNoise))
                                    : random.uniform(0, kMaxNoiseOfOthers));
  }
  const uint64_t pass_key = hash_keys({key, 1});
  plan.chunks = draw_visible_history(history, window, config, pass_key);
  const WindowPass pass = assemble_window(window, config, plan, pass_key, transformer.device());
  const at::Tensor velocity = run_window(transformer, pass, text);
  for (int64_t i = 0; i < chunks; ++i) {
    if (!past.chunks[static_cast<size_t>(i)]) continue;
    const camera::IndexRange range = grid.latents_of_chunk(1 + i);
    const auto part = [&](const at::Tensor& all) {
      return all[0].narrow(1, range.begin, range.size()).to(at::kCPU, at::kFloat);
    };
    const double level = plan.noise.levels[static_cast<size_t>(i)];
    past.latents.narrow(1, range.begin, range.size())
        .copy_(part(pass.batch.latents) - level * part(velocity));
  }
  return past;
}

GeneratedPast draw_generated_past(double share, const model::Transformer& transformer,
                                  const CaptionEncoder& captions, const Window& window,
                                  const HistoryConfig& history, uint64_t key) {
  if (!Random{key, kSequencePast}.chance(share)) return {};
  return generate_past(transformer, window, history, captions.encode(window.caption).detach(), key);
}

}  // namespace loci::train
