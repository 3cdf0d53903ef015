// SPDX-License-Identifier: Apache-2.0
#include "loci/train/windows/target_chunks.h"

#include <algorithm>
#include <numbers>

#include "loci/base/random.h"
#include "loci/camera/revisit.h"
#include "loci/camera/time_grid.h"

namespace loci::train {

namespace {

constexpr double kLatentsPerSecond = 4;  // 16 frames/s, four frames per latent

constexpr uint64_t kSequenceTargets = 5;

}  // namespace

std::vector<std::optional<double>> return_gaps(const Window& window, int64_t chunk_size) {
  // Windows are short, so a view counts as left once half of its width is out of sight.
  const camera::RevisitRule rule{.distance = 0.5, .gap = 1, .away = std::numbers::pi / 6};
  const camera::TimeGrid grid{.latents_per_chunk = chunk_size};
  const int64_t chunks = grid.chunks_in_latents(std::ssize(window.cameras)) - 1;
  std::vector<std::optional<double>> gaps(static_cast<size_t>(chunks));
  for (const camera::Revisit& revisit :
       camera::find_revisits(camera::poses_of(window.cameras), kLatentsPerSecond, rule)) {
    if (revisit.frame == 0) continue;
    auto& gap = gaps[static_cast<size_t>(grid.chunk_of_latent(revisit.frame) - 1)];
    gap = std::max(gap.value_or(0), revisit.gap);
  }
  return gaps;
}

std::vector<bool> draw_target_chunks(const PastConfig& past, const Window& window,
                                     int64_t chunk_size, uint64_t key) {
  const auto* copies = std::get_if<CleanCopies>(&past);
  if (copies == nullptr || copies->new_share >= 1) return {};
  Random random{key, kSequenceTargets};
  std::vector<bool> targets;
  for (const std::optional<double>& gap : return_gaps(window, chunk_size)) {
    targets.push_back(random.chance(copies->new_share) || gap.has_value());
  }
  if (std::ranges::find(targets, true) == targets.end()) targets.back() = true;
  return targets;
}

}  // namespace loci::train
