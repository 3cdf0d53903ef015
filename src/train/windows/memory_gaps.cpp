// SPDX-License-Identifier: Apache-2.0
#include "loci/train/windows/memory_gaps.h"

#include <algorithm>
#include <numbers>

#include "loci/camera/revisit.h"

namespace loci::train {

namespace {

constexpr double kLatentsPerSecond = 4;  // 16 frames/s, four frames a latent

}  // namespace

std::vector<std::optional<double>> memory_gaps(const Window& window, int64_t chunk) {
  // Windows are short: a view counts as left once it is out of sight for half of its width.
  const camera::RevisitRule rule{.distance = 0.5, .gap = 1, .away = std::numbers::pi / 6};
  const auto chunks =
      static_cast<size_t>((static_cast<int64_t>(window.cameras.size()) - 1) / chunk);
  std::vector<std::optional<double>> gaps(chunks);
  for (const camera::Revisit& revisit :
       camera::find_revisits(camera::poses_of(window.cameras), kLatentsPerSecond, rule)) {
    if (revisit.frame == 0) continue;
    auto& gap = gaps[static_cast<size_t>((revisit.frame - 1) / chunk)];
    gap = std::max(gap.value_or(0), revisit.gap);
  }
  return gaps;
}

}  // namespace loci::train
