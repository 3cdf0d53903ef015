// SPDX-License-Identifier: Apache-2.0
// Key strings with one step per pose and no speed, such as "w*5,l*4,w+k*3": Astronex-World's.
#pragma once

#include <numbers>
#include <string_view>
#include <vector>

#include "loci/camera/pose.h"

namespace loci::camera {

struct StepKeys {
  double step = 0.08;                   // metres per move
  double turn = std::numbers::pi / 60;  // radians per turn
};

// The identity, then one pose per step. Keys: w/s forward and back, d/a right and left, u/dn up and
// down, l/j turn right and left, i/k turn up and down, h none. A step turns first and then moves in
// the new orientation. Anything else is bad input.
std::vector<Pose> step_key_poses(std::string_view keys, const StepKeys& options = {});

}  // namespace loci::camera
