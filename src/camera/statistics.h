// SPDX-License-Identifier: Apache-2.0
// Statistics of a camera path: length, speeds, fields of view and revisits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loci/base/config.h"
#include "loci/camera/revisit.h"
#include "loci/camera/trajectory.h"

namespace loci::camera {

// Speeds of the training data, and the largest steps between consecutive latents in it.
inline constexpr double kTrainedSpeed = 1;                                // metres per second
inline constexpr double kTrainedTurn = std::numbers::pi / 6;              // radians per second
inline constexpr double kLargestStep = 0.26;                              // metres per latent
inline constexpr double kLargestStepTurn = 7.6 * std::numbers::pi / 180;  // radians per latent

struct PathStatistics {
  int64_t poses = 0;
  int64_t video_frames = 0;
  double seconds = 0;
  double distance = 0;      // metres along the path
  double displacement = 0;  // metres from the first pose to the last
  double turn = 0;          // rotation along the path, radians
  // Measured over the time of one latent, because single frames of recorded paths jitter.
  double max_speed = 0;             // metres per second
  double max_turn_rate = 0;         // radians per second
  double max_step = 0;              // metres per latent
  double max_step_turn = 0;         // radians per latent
  double min_fov = 0, max_fov = 0;  // radians
  std::vector<Revisit> revisits;

  bool too_fast() const { return max_step > kLargestStep; }
  bool turns_too_fast() const { return max_step_turn > kLargestStepTurn; }
};

PathStatistics path_statistics(const Trajectory& trajectory);

// Angles are in degrees.
Json to_json(const PathStatistics& statistics);

}  // namespace loci::camera
