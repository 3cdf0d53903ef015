// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/path/step_keys.h"

#include <cmath>
#include <optional>

#include "loci/base/error.h"
#include "loci/base/text.h"

namespace loci::camera {

namespace {

constexpr int64_t kMostSteps = 1'000'000;

struct Step {
  int forward = 0, right = 0, up = 0, yaw = 0, pitch = 0;
};

Step parse_step(std::string_view names, std::string_view keys) {
  Step step;
  for (const std::string_view name : split(names, '+')) {
    if (name == "w" || name == "s") {
      step.forward += name == "w" ? 1 : -1;
    } else if (name == "d" || name == "a") {
      step.right += name == "d" ? 1 : -1;
    } else if (name == "u" || name == "dn") {
      step.up += name == "u" ? 1 : -1;
    } else if (name == "l" || name == "j") {
      step.yaw += name == "l" ? 1 : -1;
    } else if (name == "i" || name == "k") {
      step.pitch += name == "i" ? 1 : -1;
    } else if (name != "h") {
      fail("the key string '{}' has the key '{}'; expected w, s, a, d, u, dn, l, j, i, k or h",
           one_line(keys), one_line(name));
    }
  }
  return step;
}

Mat3 about_y(double angle) {
  const double c = std::cos(angle), s = std::sin(angle);
  return {{c, 0, s, 0, 1, 0, -s, 0, c}};
}

Mat3 about_x(double angle) {
  const double c = std::cos(angle), s = std::sin(angle);
  return {{1, 0, 0, 0, c, -s, 0, s, c}};
}

}  // namespace

std::vector<Pose> step_key_poses(std::string_view keys, const StepKeys& options) {
  std::vector<Pose> poses(1);
  for (const std::string_view part : split(keys, ',')) {
    const size_t star = part.find('*');
    const auto count = star == std::string_view::npos ? std::optional<int64_t>(1)
                                                      : parse_int(part.substr(star + 1));
    if (!count || *count < 1 || *count > kMostSteps) {
      fail("the key string '{}' has the part '{}'; expected keys and a number of steps such as w*8",
           one_line(keys), one_line(part));
    }
    const Step step = parse_step(part.substr(0, star), keys);
    for (int64_t i = 0; i < *count; ++i) {
      Pose pose = poses.back();
      pose.rotation =
          pose.rotation * about_y(options.turn * step.yaw) * about_x(options.turn * step.pitch);
      pose.position =
          pose.position + pose.rotation * Vec3{options.step * step.right, -options.step * step.up,
                                               options.step * step.forward};
      poses.push_back(pose);
    }
  }
  return poses;
}

}  // namespace loci::camera
