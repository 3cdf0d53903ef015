// SPDX-License-Identifier: Apache-2.0
// Revisits: frames at which the camera returns to an earlier view after it has looked elsewhere.
#pragma once

#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "loci/camera/pose.h"

namespace loci::camera {

struct RevisitRule {
  double distance = 0.15;                     // largest distance of the two poses, metres
  double turn = std::numbers::pi * 32 / 180;  // largest rotation between them, radians
  double gap = 8;                             // least time between them, seconds
  double away = std::numbers::pi / 3;  // least rotation from the earlier pose in between, radians
};

struct Revisit {
  int64_t frame;
  int64_t earlier;  // the first visit: the earliest frame that satisfies the rule
  double gap;       // seconds between the two

  bool operator==(const Revisit&) const = default;
};

// One entry per frame that revisits an earlier one, in order. Time and memory grow about linearly
// with the number of frames.
std::vector<Revisit> find_revisits(std::span<const Pose> poses, double fps,
                                   const RevisitRule& rule = {});

// The frame of the first visit whose view is closest to that of the revisit. The visit consists of
// the consecutive frames from revisit.earlier on that are near the pose of the revisit. Distance
// and rotation count relative to the limits of the rule.
int64_t closest_of_first_visit(std::span<const Pose> poses, const Revisit& revisit,
                               const RevisitRule& rule = {});

}  // namespace loci::camera
