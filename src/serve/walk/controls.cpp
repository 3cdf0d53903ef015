// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/walk/controls.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "loci/camera/lens.h"
#include "loci/serve/net/refusal.h"

namespace loci::serve {

namespace {

constexpr double kMostLook = 90;  // degrees a chunk
constexpr size_t kMostTransitions = 256;
constexpr size_t kMostKeys = 16;

camera::Keys keys_of(const Json& actions) {
  if (!actions.is_array() || actions.size() > kMostKeys) {
    refuse("bad_request", "actions: expected a list of at most {} keys", kMostKeys);
  }
  std::string names;
  for (const Json& action : actions) {
    if (!action.is_string()) refuse("bad_request", "actions: a key is no string");
    if (!names.empty()) names += '+';
    names += action.get_ref<const std::string&>();
  }
  if (names.empty()) return {};
  return checked("bad_request", [&] { return camera::parse_keys(names, "actions"); });
}

camera::Pose pose_from(const Json& json) {
  constexpr double kFarthest = 1e4;  // metres
  if (!json.is_array() || json.size() != 7) refuse("bad_request", "poses: expected 7 numbers each");
  std::array<double, 7> v{};
  for (size_t i = 0; i < v.size(); ++i) {
    v[i] = json[i].is_number() ? json[i].get<double>() : NAN;
    if (!(std::abs(v[i]) <= kFarthest)) refuse("bad_request", "poses: a number is out of range");
  }
  if (std::hypot(std::hypot(v[3], v[4]), std::hypot(v[5], v[6])) < 0.5) {
    refuse("bad_request", "poses: the last four numbers are no unit quaternion");
  }
  return {camera::to_matrix({v[3], v[4], v[5], v[6]}), {v[0], v[1], v[2]}};
}

double number(const Json& json, double low, double high, const char* what) {
  const double value = json.is_number() ? json.get<double>() : NAN;
  if (!std::isfinite(value)) refuse("bad_request", "{}: expected a number", what);
  return std::clamp(value, low, high);
}

}  // namespace

Controls::Transition Controls::parse_transition(const Json& json) {
  if (!json.is_object()) refuse("bad_request", "transitions: expected maps");
  Transition t;
  if (const auto actions = json.find("actions"); actions != json.end() && !actions->is_null()) {
    t.has_keys = true;
    t.keys = keys_of(*actions);
  }
  if (const auto axes = json.find("axes"); axes != json.end() && !axes->is_null()) {
    if (!axes->is_object()) refuse("bad_request", "axes: expected a map");
    t.has_axes = true;
    const auto axis = [&](const char* name) {
      const auto found = axes->find(name);
      return found == axes->end() ? 0.0 : number(*found, -1, 1, name);
    };
    t.axes = {axis("forward"), axis("right"), axis("yaw"), axis("pitch")};
  }
  if (const auto look = json.find("look"); look != json.end() && !look->is_null()) {
    if (!look->is_array() || look->size() != 2) refuse("bad_request", "look: expected two numbers");
    t.yaw = number((*look)[0], -360, 360, "look");
    t.pitch = number((*look)[1], -360, 360, "look");
  }
  return t;
}

void Controls::follow(const Json& poses) {
  if (!poses.is_array() || poses.empty() || poses.size() > script_limit_) {
    refuse("bad_request", "poses: expected a list of 1 to {} poses", script_limit_);
  }
  std::deque<camera::Pose> path;
  const camera::Pose from = stands_;
  for (const Json& pose : poses) path.push_back(from * pose_from(pose));
  script_.clear();
  path_.swap(path);
}

void Controls::apply(const Json& payload) {
  if (payload.is_array()) {
    if (script_.size() + payload.size() > script_limit_) {
      refuse("limit", "a script of {} frames on top of {}; at most {} may wait", payload.size(),
             script_.size(), script_limit_);
    }
    std::vector<camera::Keys> frames;
    for (const Json& actions : payload) frames.push_back(keys_of(actions));
    script_.insert(script_.end(), frames.begin(), frames.end());
    path_.clear();
    return;
  }
  const Json mode = payload.is_object() ? payload.value("mode", Json()) : Json();
  if (mode == "path") return follow(payload.value("poses", Json()));
  if (mode != "state") {
    refuse("bad_request",
           "camera_actions: expected a list of frames or a map with mode \"state\" or \"path\"");
  }
  const auto found = payload.find("transitions");
  if (found == payload.end() || !found->is_array() || found->size() > kMostTransitions) {
    refuse("bad_request", "transitions: expected a list of at most {}", kMostTransitions);
  }
  std::vector<Transition> transitions;
  for (const Json& json : *found) transitions.push_back(parse_transition(json));
  for (const Transition& t : transitions) {
    if (t.has_keys) set_keys(t.keys);
    if (t.has_axes) axes_ = t.axes;
    look_yaw_ = std::clamp(look_yaw_ + t.yaw, -kMostLook, kMostLook);
    look_pitch_ = std::clamp(look_pitch_ + t.pitch, -kMostLook, kMostLook);
  }
  if (moving()) path_.clear();  // who takes the controls leaves the path
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
    std::optional<camera::Pose> followed;  // as it is: the camera under the keys has no roll
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
