// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/walk/controls.h"

#include <algorithm>

#include "loci/camera/lens.h"
#include "loci/serve/net/refusal.h"

namespace loci::serve {

namespace {

constexpr double kMostLook = 90;  // degrees per chunk

}  // namespace

void Controls::apply(const CameraActions& actions) {
  std::visit([this](const auto& each) { apply(each); }, actions);
}

void Controls::apply(const KeyScript& script) {
  if (script_.size() + script.frames.size() > script_limit_) {
    refuse("limit", "a script of {} frames after {} queued frames; at most {} frames are queued",
           script.frames.size(), script_.size(), script_limit_);
  }
  script_.insert(script_.end(), script.frames.begin(), script.frames.end());
  path_.clear();
}

void Controls::apply(const CameraPath& path) {
  script_.clear();
  path_.clear();
  for (const camera::Pose& pose : path.poses) path_.push_back(stands_ * pose);
}

void Controls::apply(const ControlState& state) {
  for (const Transition& t : state.transitions) {
    if (t.actions) set_keys(*t.actions);
    if (t.axes) axes_ = *t.axes;
    if (!t.look) continue;
    look_yaw_ = std::clamp(look_yaw_ + (*t.look)[0], -kMostLook, kMostLook);
    look_pitch_ = std::clamp(look_pitch_ + (*t.look)[1], -kMostLook, kMostLook);
  }
  if (moving()) path_.clear();  // the client takes over
}

void Controls::set_keys(const camera::Keys& keys) {
  const auto axis = [&](int camera::Keys::*member) {
    const int before = keys_.*member, now = keys.*member;
    if (now != 0 && now != before) pressed_.*member = now;
    if (now == 0 && pressed_.*member != 0) tapped_.*member = pressed_.*member;
  };
  axis(&camera::Keys::forward);
  axis(&camera::Keys::right);
  axis(&camera::Keys::yaw);
  axis(&camera::Keys::pitch);
  keys_ = keys;
}

camera::Axes Controls::held() const {
  const auto sum = [](int key, double axis) { return std::clamp(key + axis, -1.0, 1.0); };
  return {sum(keys_.forward, axes_.forward), sum(keys_.right, axes_.right),
          sum(keys_.yaw, axes_.yaw), sum(keys_.pitch, axes_.pitch)};
}

void Controls::release() {
  keys_ = pressed_ = tapped_ = {};
  axes_ = {};
  look_yaw_ = look_pitch_ = 0;
  script_.clear();
  path_.clear();
}

bool Controls::moving() const {
  const camera::Axes axes = held();
  return tapped_ != camera::Keys() || look_yaw_ != 0 || look_pitch_ != 0 || axes.forward != 0 ||
         axes.right != 0 || axes.yaw != 0 || axes.pitch != 0;
}

std::vector<camera::Pose> Controls::take(int64_t latents) {
  const double seconds = 1 / fps_;
  const double share = 1 / static_cast<double>(latents * frames_per_latent_);
  std::vector<camera::Pose> poses;
  for (int64_t i = 0; i < latents; ++i) {
    camera::Axes axes = held();
    if (i == 0) {
      const auto tap_or = [](double axis, int tapped) { return axis != 0 ? axis : tapped; };
      axes = {tap_or(axes.forward, tapped_.forward), tap_or(axes.right, tapped_.right),
              tap_or(axes.yaw, tapped_.yaw), tap_or(axes.pitch, tapped_.pitch)};
    }
    std::optional<camera::Pose> followed;  // the exact pose: camera_ cannot represent roll
    for (int64_t frame = 0; frame < frames_per_latent_; ++frame) {
      followed.reset();
      if (!path_.empty()) {
        followed = path_.front();
        camera_.set_pose(path_.front());
        path_.pop_front();
        continue;
      }
      camera_.look(camera::radians(look_yaw_ * share), camera::radians(look_pitch_ * share));
      if (script_.empty()) {
        camera_.drive(axes, seconds);
      } else {
        camera_.advance(script_.front(), seconds);
        script_.pop_front();
      }
    }
    stands_ = followed.value_or(camera_.pose());
    poses.push_back(stands_);
  }
  pressed_ = tapped_ = {};
  look_yaw_ = look_pitch_ = 0;
  return poses;
}

}  // namespace loci::serve
