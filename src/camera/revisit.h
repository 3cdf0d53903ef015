// SPDX-License-Identifier: Apache-2.0
// Revisit instants: poses at which the camera is back where it has been, after looking elsewhere.
#pragma once

#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "loci/camera/pose.h"

namespace loci::camera {

struct RevisitRule {
  double distance = 0.15;                     // metres between the two poses, at most
  double turn = std::numbers::pi * 32 / 180;  // rotation between them, at most
  double gap = 8;                             // seconds between them, at least
  double away = std::numbers::pi / 3;         // rotation from the earlier pose in between, at least
};

struct Revisit {
  int64_t frame;
  int64_t earlier;  // the first visit: the earliest frame that fulfils the rule
  double gap;       // seconds between the two

  bool operator==(const Revisit&) const = default;
};

// For every frame that revisits an earlier one. Time and memory are about linear in the frames.
std::vector<Revisit> find_revisits(std::span<const Pose> poses, double fps,
                                   const RevisitRule& rule = {});

}  // namespace loci::camera
