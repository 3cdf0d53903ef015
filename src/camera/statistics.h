// SPDX-License-Identifier: Apache-2.0
// What can be said of a camera path in numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loci/base/config.h"
#include "loci/camera/revisit.h"
#include "loci/camera/trajectory.h"

namespace loci::camera {

// Motion that LOCI models have seen in training, and the steps from latent to latent above which
// they leave it.
inline constexpr double kTrainedSpeed = 1;                                // metres a second
inline constexpr double kTrainedTurn = std::numbers::pi / 6;              // radians a second
inline constexpr double kLargestStep = 0.26;                              // metres a latent
inline constexpr double kLargestStepTurn = 7.6 * std::numbers::pi / 180;  // radians a latent

struct PathStatistics {
  int64_t poses = 0;
  int64_t video_frames = 0;
  double seconds = 0;
  double distance = 0;      // metres along the path
  double displacement = 0;  // metres from the first pose to the last
  double turn = 0;          // radians along the path
  // Over the time of one latent: single frames of recorded paths jitter.
  double max_speed = 0;             // metres a second
  double max_turn_rate = 0;         // radians a second
  double max_step = 0;              // metres a latent
  double max_step_turn = 0;         // radians a latent
  double min_fov = 0, max_fov = 0;  // radians
  std::vector<Revisit> revisits;

  bool too_fast() const { return max_step > kLargestStep; }
  bool turns_too_fast() const { return max_step_turn > kLargestStepTurn; }
};

PathStatistics path_statistics(const Trajectory& trajectory);

// Angles in degrees, revisits as a list.
Json to_json(const PathStatistics& statistics);

}  // namespace loci::camera
