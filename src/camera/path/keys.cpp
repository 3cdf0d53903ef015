// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/path/keys.h"

#include <algorithm>
#include <array>

#include "loci/base/error.h"
#include "loci/base/text.h"
#include "loci/camera/lens.h"

namespace loci::camera {

namespace {

// A million frames are 17 hours at 16 frames per second.
constexpr int64_t kMostFrames = 1'000'000;

struct KeyName {
  std::string_view name;
  Keys effect;
};

// Words come before their first letters: "left" is not "l" and "down" is not "d".
constexpr std::array kKeyNames = {
    KeyName{"right", {.yaw = 1}},   KeyName{"left", {.yaw = -1}},  KeyName{"up", {.pitch = 1}},
    KeyName{"down", {.pitch = -1}}, KeyName{"none", {}},           KeyName{"stay", {}},
    KeyName{"w", {.forward = 1}},   KeyName{"s", {.forward = -1}}, KeyName{"a", {.right = -1}},
    KeyName{"d", {.right = 1}},     KeyName{"i", {.pitch = 1}},    KeyName{"k", {.pitch = -1}},
    KeyName{"j", {.yaw = -1}},      KeyName{"l", {.yaw = 1}},
};

constexpr std::string_view kKeyHelp =
    "use w s a d to move, up down left right or i k j l to look, none to wait";

int clamp_axis(int value) { return std::clamp(value, -1, 1); }

int parse_frames(std::string_view text, std::string_view entry, double fps) {
  const bool in_seconds = text.ends_with('s');
  if (in_seconds) text.remove_suffix(1);
  const std::optional<double> count = parse_double(text);
  const double frames = count ? (in_seconds ? std::round(*count * fps) : *count) : -1;
  if (!(frames >= 1 && frames <= kMostFrames) || frames != std::floor(frames)) {
    fail(
        "key string: '{}' must end in a whole number of frames such as w-12, or in seconds such as "
        "w-1.5s",
        entry);
  }
  return static_cast<int>(frames);
}

}  // namespace

Keys parse_keys(std::string_view text, std::string_view where) {
  const std::string lowered = lower(text);
  std::string_view rest = lowered;
  Keys keys;
  bool any = false;
  while (!rest.empty()) {
    if (any && rest.front() == '+') rest.remove_prefix(1);
    const auto key = std::find_if(kKeyNames.begin(), kKeyNames.end(),
                                  [&](const KeyName& k) { return rest.starts_with(k.name); });
    if (key == kKeyNames.end()) fail("{}: unknown key in '{}'; {}", where, text, kKeyHelp);
    rest.remove_prefix(key->name.size());
    keys.forward += key->effect.forward;
    keys.right += key->effect.right;
    keys.yaw += key->effect.yaw;
    keys.pitch += key->effect.pitch;
    any = true;
  }
  if (!any) fail("{}: no key named; {}", where, kKeyHelp);
  return {clamp_axis(keys.forward), clamp_axis(keys.right), clamp_axis(keys.yaw),
          clamp_axis(keys.pitch)};
}

std::string to_string(const Keys& keys) {
  std::string text;
  if (keys.forward != 0) text += keys.forward > 0 ? 'w' : 's';
  if (keys.right != 0) text += keys.right > 0 ? 'd' : 'a';
  const auto word = [&text](std::string_view name) {
    if (!text.empty()) text += '+';
    text += name;
  };
  if (keys.yaw != 0) word(keys.yaw > 0 ? "right" : "left");
  if (keys.pitch != 0) word(keys.pitch > 0 ? "up" : "down");
  return text.empty() ? "none" : text;
}

std::vector<KeyStep> parse_key_string(std::string_view text, double fps) {
  std::vector<KeyStep> steps;
  int64_t total = 0;
  for (std::string_view entry : split(trim(text), ',')) {
    entry = trim(entry);
    const size_t dash = entry.rfind('-');
    if (entry.empty() || dash == std::string_view::npos) {
      fail("key string: '{}' is not of the form keys-frames, such as w-12", entry);
    }
    const Keys keys = parse_keys(trim(entry.substr(0, dash)), "key string");
    steps.push_back({keys, parse_frames(trim(entry.substr(dash + 1)), entry, fps)});
    total += steps.back().frames;
    if (total > kMostFrames) fail("key string: more than {} frames", format_count(kMostFrames));
  }
  return steps;
}

std::string format_key_string(const std::vector<KeyStep>& steps) {
  std::string text;
  for (size_t i = 0; i < steps.size();) {
    int64_t frames = 0;
    const Keys keys = steps[i].keys;
    for (; i < steps.size() && steps[i].keys == keys; ++i) frames += steps[i].frames;
    text += fmt::format("{}{}-{}", text.empty() ? "" : ",", to_string(keys), frames);
  }
  return text;
}

bool looks_like_key_string(std::string_view text) {
  // The first entry is letters and '+', a dash, then a digit. A file name of this form is unlikely.
  const std::string_view first = trim(split(trim(text), ',').front());
  const size_t dash = first.find('-');
  if (dash == 0 || dash == std::string_view::npos || dash + 1 >= first.size()) return false;
  const auto is_key_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == ' ';
  };
  const std::string_view count = trim(first.substr(dash + 1));
  return std::all_of(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(dash),
                     is_key_letter) &&
         std::all_of(count.begin(), count.end(),
                     [](char c) { return (c >= '0' && c <= '9') || c == '.' || c == 's'; });
}

Pose KeyCamera::advance(const Keys& keys, double seconds) {
  return drive(Axes{static_cast<double>(keys.forward), static_cast<double>(keys.right),
                    static_cast<double>(keys.yaw), static_cast<double>(keys.pitch)},
               seconds);
}

Pose KeyCamera::drive(const Axes& axes, double seconds) {
  const double yaw_before = yaw_;
  look(axes.yaw * speeds_.turn * seconds, axes.pitch * speeds_.turn * seconds);
  const double step = speeds_.move * seconds / std::max(1.0, std::hypot(axes.forward, axes.right));
  const Mat3 heading = rotation_from_angles((yaw_before + yaw_) / 2, 0);
  position_ = position_ + heading.column(2) * (axes.forward * step) +
              heading.column(0) * (axes.right * step);
  return pose();
}

Pose KeyCamera::look(double yaw, double pitch) {
  yaw_ += yaw;
  pitch_ = std::clamp(pitch_ + pitch, -speeds_.pitch_limit, speeds_.pitch_limit);
  return pose();
}

Pose KeyCamera::pose() const { return {rotation_from_angles(yaw_, pitch_), position_}; }

void KeyCamera::set_pose(const Pose& pose) {
  position_ = pose.position;
  yaw_ = pose.yaw();
  pitch_ = pose.pitch();
}

std::vector<Pose> key_path(const std::vector<KeyStep>& steps, const KeySpeeds& speeds, double fps) {
  KeyCamera camera(speeds);
  std::vector<Pose> poses = {Pose{}};
  for (const KeyStep& step : steps) {
    for (int i = 0; i < step.frames; ++i) poses.push_back(camera.advance(step.keys, 1 / fps));
  }
  return poses;
}

std::vector<KeyStep> keys_of_path(std::span<const Pose> poses, const KeySpeeds& speeds,
                                  double fps) {
  constexpr double kNear = 1e-3;
  const double kNearTurn = radians(0.05);
  // Every frame is compared with the path of the keys so far, so that differences do not
  // accumulate.
  KeyCamera camera(speeds);
  const std::vector<Pose> relative = relative_to_first(poses);
  std::vector<KeyStep> steps;
  for (size_t frame = 1; frame < relative.size(); ++frame) {
    const auto try_keys = [&](const Keys& keys) {
      KeyCamera next = camera;
      const Pose pose = next.advance(keys, 1 / fps);
      if (norm(pose.position - relative[frame].position) > kNear ||
          angle_between(pose.rotation, relative[frame].rotation) > kNearTurn) {
        return false;
      }
      camera = next;
      steps.push_back({keys, 1});
      return true;
    };
    bool found = !steps.empty() && try_keys(steps.back().keys);
    for (int code = 0; code < 81 && !found; ++code) {
      constexpr std::array kAxis = {0, 1, -1};
      found =
          try_keys({kAxis[code % 3], kAxis[code / 3 % 3], kAxis[code / 9 % 3], kAxis[code / 27]});
    }
    if (!found) {
      fail(
          "frame {}: no keys cause this motion at {:.4g} m/s and {:.4g} degrees per second; a key "
          "string can only store such motions",
          frame, speeds.move, degrees(speeds.turn));
    }
  }
  return steps;
}

}  // namespace loci::camera
