// SPDX-License-Identifier: Apache-2.0
// The choice of one old frame with a near pose as additional context of a chunk. Matrix-Game's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "loci/camera/pose.h"

namespace loci::memory {

// The oldest of the `pool` candidates (frame, pose) with the nearest poses: the smallest mean over
// `targets` of distance in metres plus rotation in radians; of equal ones the newer. None without
// candidates.
std::optional<int64_t> nearest_old_frame(
    std::span<const std::pair<int64_t, camera::Pose>> candidates,
    std::span<const camera::Pose> targets, int64_t pool = 5);

}  // namespace loci::memory
