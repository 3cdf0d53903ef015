// SPDX-License-Identifier: Apache-2.0
// A person with a camera: position, gaze and their speeds, moved in small steps, so that nothing
// starts or stops abruptly.
#pragma once

#include <cmath>
#include <vector>

#include "loci/base/random.h"
#include "loci/camera/pose.h"
#include "loci/world/path/path.h"

namespace loci::world {

// The same direction, from -180 to 180 degrees.
inline double wrap(double degrees) { return degrees - 360 * std::floor(degrees / 360 + 0.5); }

// Angles in degrees; yaw turns right from +z, pitch up.
class TrajectorySimulator {
 public:
  TrajectorySimulator(const PathOptions& options, const Point& at, double yaw, Random random);

  bool done() const { return static_cast<int64_t>(poses_.size()) >= options_.frames; }
  double time() const { return static_cast<double>(poses_.size()) / options_.fps; }
  double left() const { return static_cast<double>(options_.frames) / options_.fps - time(); }
  const Point& position() const { return at_; }
  double yaw() const { return yaw_; }

  // A look aside while walking.
  struct Glance {
    double angle = 0;  // degrees to the right
    double start = 1;  // seconds after setting out
    double hold = 1;   // seconds
  };
  // Along the way, looking where one goes, with glances aside: the given one first, then others.
  void follow(const std::vector<Point>& way, const Glance* first_glance = nullptr);
  // Until the gaze rests on `yaw` (shortest way round) and `pitch`.
  void look(double yaw, double pitch = 0);
  // Turns by a signed angle that may exceed half a turn.
  void turn(double angle);
  void pause(double seconds);

  std::vector<camera::Pose> poses() &&;

 private:
  // `aside`: how far the target deliberately lies off the way; other deviations slow one down.
  void step(double yaw_target, double pitch_target, const std::vector<Point>* way,
            double aside = 0);
  void record();

  PathOptions options_;
  Random random_;
  Point at_;
  double yaw_, pitch_ = 0;
  double yaw_speed_ = 0, pitch_speed_ = 0, speed_ = 0;
  double along_ = 0;  // metres of the current way
  int substep_ = 0;
  std::vector<camera::Pose> poses_;
};

camera::Pose pose_at(const Point& at, double height, double yaw, double pitch);

}  // namespace loci::world
