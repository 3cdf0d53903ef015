// SPDX-License-Identifier: Apache-2.0
// What a user holds, pushes and scripts, gathered between chunks, and the poses it makes of a
// chunk.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "loci/camera/path/keys.h"
#include "loci/serve/protocol/client_messages.h"

namespace loci::serve {

class Controls {
 public:
  // `script_limit`: most video frames queued.
  Controls(double fps, int64_t frames_per_latent, size_t script_limit)
      : fps_(fps), frames_per_latent_(frames_per_latent), script_limit_(script_limit) {}

  // A script that is too long for the queue is refused ("limit") and changes nothing.
  void apply(const CameraActions& actions);

  void set_pose(const camera::Pose& pose) {
    stands_ = pose;
    camera_.set_pose(pose);
  }
  const camera::KeySpeeds& speeds() const { return speeds_; }
  // Lets go of everything.
  void release();
  // Whether anything is held or waits.
  bool active() const { return !script_.empty() || !path_.empty() || moving(); }

  // Poses of the next chunk's latents; uses up scripts, taps and looks.
  std::vector<camera::Pose> take(int64_t latents);

 private:
  void apply(const KeyScript& script);
  void apply(const ControlState& state);
  void apply(const CameraPath& path);
  void set_keys(const camera::Keys& keys);
  camera::Axes held() const;
  // Whether anything is held, was tapped or looked at since the last chunk.
  bool moving() const;

  double fps_;
  int64_t frames_per_latent_;
  size_t script_limit_;
  camera::KeySpeeds speeds_;
  camera::KeyCamera camera_{speeds_};
  camera::Pose stands_;  // after the newest chunk
  camera::Keys keys_;
  camera::Keys pressed_, tapped_;  // since the last chunk: went down; went down and up again
  camera::Axes axes_;
  double look_yaw_ = 0, look_pitch_ = 0;  // degrees
  std::deque<camera::Keys> script_;
  std::deque<camera::Pose> path_;
};

}  // namespace loci::serve
