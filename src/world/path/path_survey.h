// SPDX-License-Identifier: Apache-2.0
// What the paths of a dataset have in common: revisits, speeds, turns, distance to obstacles.
#pragma once

#include <array>
#include <cstdint>

#include "loci/base/config.h"
#include "loci/world/clip/clip_maker.h"

namespace loci::world {

// Bounds of revisits by the seconds since the first visit: 8 to 20, 20 to 60, more.
inline constexpr std::array<double, 3> kRevisitGaps = {8, 20, 60};

struct PathSurvey {
  // Middle, high and highest value among the steps from latent to latent that move or turn at all.
  struct Spread {
    double median = 0, p95 = 0, highest = 0;
  };

  int64_t paths = 0;
  double seconds = 0;         // of one path
  int64_t planned = 0;        // paths planned to return
  int64_t with_revisits = 0;  // paths with one at least
  // By the gap: paths that have such a revisit, and frames that are one, over all paths.
  std::array<int64_t, 3> paths_by_gap{}, frames_by_gap{};
  double metres = 0, degrees = 0;  // along a path, mean
  Spread speed;                    // metres a second
  Spread turn_rate;                // degrees a second
  double still = 0;                // share of steps that neither move nor turn
  double nearest = 0;              // metres between camera and obstacle, lowest of all
  int64_t collisions = 0;          // paths that come nearer than Walkable::kMargin
};

// The paths of clips 0 to `paths` - 1, on `workers` threads; the result does not depend on them.
PathSurvey survey_paths(uint64_t seed, int64_t paths, const ClipOptions& options, int workers = 1);

Json to_json(const PathSurvey& survey);

}  // namespace loci::world
