// SPDX-License-Identifier: Apache-2.0
#include "loci/train/windows/window_stages.h"

#include "loci/base/random.h"
#include "loci/camera/time_grid.h"
#include "loci/train/windows/target_chunks.h"

namespace loci::train {

namespace {

// Keys of the random sequences of a window.
constexpr uint64_t kSequenceLevels = 1, kSequenceCaption = 3;

}  // namespace

WindowStages WindowStages::for_validation() const {
  WindowStages stages = *this;
  stages.generated_share = 0;
  if (auto* copies = std::get_if<CleanCopies>(&stages.past)) copies->new_share = 1;
  stages.caption_dropout = 0;
  return stages;
}

WindowPlan plan_window(const Window& window, const model::TransformerConfig& model,
                       const WindowStages& stages, uint64_t key, const GeneratedPast& generated) {
  const camera::TimeGrid grid{.latents_per_chunk = model.chunk_size};
  const int64_t chunks = grid.chunks_in_latents(window.latents.size(1)) - 1;
  WindowPlan plan;
  Random random{key, kSequenceLevels};
  std::vector<double> levels = draw_noise_levels(stages.noise, chunks, random);
  plan.noise = draw_past(stages.past, stages.noise, std::move(levels), generated.chunks, random);
  plan.targets = draw_target_chunks(stages.past, window, model.chunk_size, key);
  plan.chunks = draw_visible_history(stages.history, window, model, key);
  plan.drop_caption = Random{key, kSequenceCaption}.chance(stages.caption_dropout);
  return plan;
}

WindowPass prepare_window(const Window& window, const model::TransformerConfig& model,
                          const WindowStages& stages, uint64_t key, at::Device device,
                          const GeneratedPast& generated) {
  const WindowPlan plan = plan_window(window, model, stages, key, generated);
  return assemble_window(window, model, plan, key, device, generated);
}

}  // namespace loci::train
