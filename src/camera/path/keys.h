// SPDX-License-Identifier: Apache-2.0
// Camera motion by keys: the state of the keys, the motion that they cause, and key strings such as
// "w-12,left-8,wd-5,none-4".
#pragma once

#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loci/camera/pose.h"

namespace loci::camera {

// Every axis is -1, 0 or +1. Opposite keys held together cancel each other.
struct Keys {
  int forward = 0;  // w, s
  int right = 0;    // d, a
  int yaw = 0;      // right or l, left or j
  int pitch = 0;    // up or i, down or k

  bool operator==(const Keys&) const = default;
};

// The same for analogue sticks: every axis is between -1 and 1.
struct Axes {
  double forward = 0, right = 0, yaw = 0, pitch = 0;
};

struct KeySpeeds {
  double move = 1;                            // metres per second, in any direction
  double turn = std::numbers::pi / 6;         // radians per second, of yaw and of pitch
  double pitch_limit = std::numbers::pi / 3;  // largest pitch up and down, radians
};

// Parses "w", "wd", "w+left", "none", …; anything else is bad input. `where` names the text in
// messages.
Keys parse_keys(std::string_view text, std::string_view where);
// The inverse, such as "wd", "w+left" or "none".
std::string to_string(const Keys& keys);

// One step of a key string.
struct KeyStep {
  Keys keys;
  int frames = 0;

  bool operator==(const KeyStep&) const = default;
};

// Parses entries "keys-frames" that are separated by commas. A count that ends in "s" is in
// seconds.
std::vector<KeyStep> parse_key_string(std::string_view text, double fps);
// Joins consecutive steps with equal keys.
std::string format_key_string(const std::vector<KeyStep>& steps);
// Whether `text` has the form of a key string. parse_key_string may still find an error in it.
bool looks_like_key_string(std::string_view text);

// A camera that keys move. It moves in the horizontal plane along its yaw, independently of its
// pitch. Two movement keys held together are as fast as one.
class KeyCamera {
 public:
  explicit KeyCamera(const KeySpeeds& speeds = {}) : speeds_(speeds) {}

  // The pose after `seconds` with these keys held. The position moves along the yaw at half of that
  // time.
  Pose advance(const Keys& keys, double seconds);
  Pose drive(const Axes& axes, double seconds);
  // Adds the angles, in radians, and clamps the pitch to its limit.
  Pose look(double yaw, double pitch);
  Pose pose() const;
  // Continues from `pose` without its roll.
  void set_pose(const Pose& pose);

 private:
  KeySpeeds speeds_;
  Vec3 position_;
  double yaw_ = 0;
  double pitch_ = 0;
};

// The identity followed by one pose for each frame of the steps.
std::vector<Pose> key_path(const std::vector<KeyStep>& steps, const KeySpeeds& speeds, double fps);

// The steps that make `poses`. A frame that no keys reach within 1 mm and 0.05 degrees is bad
// input.
std::vector<KeyStep> keys_of_path(std::span<const Pose> poses, const KeySpeeds& speeds, double fps);

}  // namespace loci::camera
