// SPDX-License-Identifier: Apache-2.0
// action.json of the MIND benchmark: actions and poses per frame in Unreal's units (centimetres,
// degrees; x forward, y right, z up).
#pragma once

#include <string>
#include <vector>

#include "loci/camera/formats/source.h"
#include "loci/camera/pose.h"

namespace loci::camera {

// 0 none, 1 the first direction, 2 the other one.
struct MindAction {
  int ws = 0;  // forward, back
  int ad = 0;  // left, right
  int ud = 0;  // look up, down
  int lr = 0;  // look left, right

  bool operator==(const MindAction&) const = default;
};

struct MindClip {
  int64_t mark_time = 0;   // first frame to predict
  int64_t total_time = 0;  // number of frames of the recording
  std::string caption;
  bool third_person = false;
  std::vector<MindAction> actions;
  std::vector<Pose> actor;   // of the character
  std::vector<Pose> camera;  // equal to `actor` in first person
};

MindClip read_mind_clip(const Source& source);

// A pose in Unreal's world, roll/pitch/yaw in degrees, position in centimetres.
struct UnrealPose {
  Vec3 position;
  double roll = 0, pitch = 0, yaw = 0;
};
Pose from_unreal(const UnrealPose& pose);
UnrealPose to_unreal(const Pose& pose);

}  // namespace loci::camera
