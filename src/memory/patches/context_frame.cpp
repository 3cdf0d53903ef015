// SPDX-License-Identifier: Apache-2.0
#include "loci/memory/patches/context_frame.h"

#include <algorithm>

namespace loci::memory {

std::optional<int64_t> nearest_old_frame(
    std::span<const std::pair<int64_t, camera::Pose>> candidates,
    std::span<const camera::Pose> targets, int64_t pool) {
  if (candidates.empty()) return std::nullopt;
  std::vector<std::pair<double, int64_t>> scored;  // score, minus frame
  for (const auto& [frame, pose] : candidates) {
    double sum = 0;
    for (const camera::Pose& target : targets) {
      sum += camera::norm(pose.position - target.position) +
             camera::angle_between(pose.rotation, target.rotation);
    }
    scored.emplace_back(sum / static_cast<double>(targets.size()), -frame);
  }
  std::ranges::sort(scored);
  scored.resize(std::min(scored.size(), static_cast<size_t>(pool)));
  int64_t oldest = -scored.front().second;
  for (const auto& [score, frame] : scored) oldest = std::min(oldest, -frame);
  return oldest;
}

}  // namespace loci::memory
