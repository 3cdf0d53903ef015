// SPDX-License-Identifier: Apache-2.0
// A camera driven by keys: the state of the keys, the motion they make, and strings of them such as
// "w-12,left-8,wd-5,none-4".
#pragma once

#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loci/camera/pose.h"

namespace loci::camera {

// Each axis is -1, 0 or +1; opposite keys held together cancel.
struct Keys {
  int forward = 0;  // w, s
  int right = 0;    // d, a
  int yaw = 0;      // right or l, left or j
  int pitch = 0;    // up or i, down or k

  bool operator==(const Keys&) const = default;
};

// The same for sticks: each axis from -1 to 1.
struct Axes {
  double forward = 0, right = 0, yaw = 0, pitch = 0;
};

struct KeySpeeds {
  double move = 1;                            // metres a second, in any direction
  double turn = std::numbers::pi / 6;         // radians a second, of yaw and of pitch
  double pitch_limit = std::numbers::pi / 3;  // radians up and down
};

// "w", "wd", "w+left", "none", … or fail. `where` names the text in messages.
Keys parse_keys(std::string_view text, std::string_view where);
// The inverse: "wd", "w+left", "none".
std::string to_string(const Keys& keys);

// One step of a key string.
struct KeyStep {
  Keys keys;
  int frames = 0;

  bool operator==(const KeyStep&) const = default;
};

// "keys-frames" joined by commas; a count that ends in "s" is in seconds.
std::vector<KeyStep> parse_key_string(std::string_view text, double fps);
// Equal neighbours are joined.
std::string format_key_string(const std::vector<KeyStep>& steps);
// Whether `text` is meant as a key string; parse_key_string may still find an error in it.
bool looks_like_key_string(std::string_view text);

// The camera under the keys. It moves on the horizontal plane along its yaw, whatever its pitch,
// and two moving keys held together do not go faster than one.
class KeyCamera {
 public:
  explicit KeyCamera(const KeySpeeds& speeds = {}) : speeds_(speeds) {}

  // The pose after `seconds` with these keys held. Position follows the yaw half way through.
  Pose advance(const Keys& keys, double seconds);
  Pose drive(const Axes& axes, double seconds);
  // Turns by so many radians, pitch within its limit.
  Pose look(double yaw, double pitch);
  Pose pose() const;
  // Continues from a pose; its roll is dropped.
  void set_pose(const Pose& pose);

 private:
  KeySpeeds speeds_;
  Vec3 position_;
  double yaw_ = 0;
  double pitch_ = 0;
};

// The identity followed by one pose for each frame of the steps.
std::vector<Pose> key_path(const std::vector<KeyStep>& steps, const KeySpeeds& speeds, double fps);

// The steps whose path is `poses`, or fail at the first frame that no keys make (more than 1 mm or
// 0.05 degrees away).
std::vector<KeyStep> keys_of_path(std::span<const Pose> poses, const KeySpeeds& speeds, double fps);

}  // namespace loci::camera
