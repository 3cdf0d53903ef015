// SPDX-License-Identifier: Apache-2.0
// Statistics over the paths of a dataset: revisits, speeds, rotations, distances to obstacles.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "loci/base/config.h"
#include "loci/world/clip/clip_maker.h"

namespace loci::world {

// Classes of revisits by the seconds since the first visit: 8 to 20, 20 to 60, more than 60.
inline constexpr std::array<double, 3> kRevisitGaps = {8, 20, 60};

struct PathSurvey {
  // Over all steps from one latent to the next that move or turn.
  struct Spread {
    double median = 0, p95 = 0, highest = 0;
  };

  int64_t paths = 0;
  double seconds = 0;         // length of one path
  int64_t planned = 0;        // paths that are planned to return
  int64_t with_revisits = 0;  // paths with at least one revisit
  // Per class of kRevisitGaps: paths with such a revisit, and frames that are such a revisit.
  std::array<int64_t, 3> paths_by_gap{}, frames_by_gap{};
  double metres = 0, degrees = 0;  // mean length and rotation of a path
  Spread speed;                    // metres per second
  Spread turn_rate;                // degrees per second
  double still = 0;                // share of steps that neither move nor turn
  double nearest = 0;              // least distance of a camera from an obstacle, metres
  int64_t collisions = 0;          // paths closer to an obstacle than FreeSpace::kMargin

  // By rendering depth, with `pictures`.
  struct Pictures {
    Spread motion;  // of picture_motion(), pixels per latent
    // Of paths that continue after a tour: the share of the pixels after it that the tour shows,
    // the share that it shows with at least half of the resolution, and the least share of a path.
    struct Tour {
      double shown = 0, sharp = 0, least_shown = 1;
    };
    std::optional<Tour> tour;
  };
  std::optional<Pictures> pictures;
};

// Measures the paths of clips 0 to `paths` - 1 on `workers` threads. The result does not depend on
// the number of threads. `pictures` needs a pinhole lens.
PathSurvey survey_paths(uint64_t seed, int64_t paths, const ClipOptions& options, int workers = 1,
                        bool pictures = false);

Json to_json(const PathSurvey& survey);

}  // namespace loci::world
