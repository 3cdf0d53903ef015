// SPDX-License-Identifier: Apache-2.0
// The camera controls of a walk. They collect the client's input between chunks and turn it into
// the poses of the next chunk.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "loci/camera/path/keys.h"
#include "loci/serve/protocol/client_messages.h"

namespace loci::serve {

// Not thread-safe; the mailbox guards it.
class Controls {
 public:
  // `script_limit`: maximum number of video frames in the script.
  Controls(double fps, int64_t frames_per_latent, size_t script_limit,
           const camera::KeySpeeds& speeds = {})
      : fps_(fps),
        frames_per_latent_(frames_per_latent),
        script_limit_(script_limit),
        speeds_(speeds) {}

  // A script that is too long for the queue is refused ("limit") and changes nothing.
  void apply(const CameraActions& actions);

  void set_pose(const camera::Pose& pose) {
    stands_ = pose;
    camera_.set_pose(pose);
  }
  const camera::KeySpeeds& speeds() const { return speeds_; }
  // Releases all keys and drops scripts and paths.
  void release();
  // Whether the next chunk would move the camera.
  bool active() const { return !script_.empty() || !path_.empty() || moving(); }

  // Poses of the next chunk's latent frames. Consumes scripts, paths, taps and looks.
  std::vector<camera::Pose> take(int64_t latents);

 private:
  void apply(const KeyScript& script);
  void apply(const ControlState& state);
  void apply(const CameraPath& path);
  void set_keys(const camera::Keys& keys);
  camera::Axes held() const;
  // Whether a key or stick is held, or a tap or look came since the last chunk.
  bool moving() const;

  double fps_;
  int64_t frames_per_latent_;
  size_t script_limit_;
  camera::KeySpeeds speeds_;
  camera::KeyCamera camera_{speeds_};
  camera::Pose stands_;  // pose after the newest chunk
  camera::Keys keys_;    // held
  // Since the last chunk: keys that were pressed; keys that were pressed and released again.
  camera::Keys pressed_, tapped_;
  camera::Axes axes_;
  double look_yaw_ = 0, look_pitch_ = 0;  // degrees
  std::deque<camera::Keys> script_;
  std::deque<camera::Pose> path_;
};

}  // namespace loci::serve
