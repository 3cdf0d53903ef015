// SPDX-License-Identifier: Apache-2.0
// Simulates a person with a camera in small time steps: position and viewing direction start and
// stop smoothly.
#pragma once

#include <cmath>
#include <vector>

#include "loci/base/random.h"
#include "loci/camera/pose.h"
#include "loci/world/path/path.h"

namespace loci::world {

// The equivalent angle from -180 to 180 degrees.
inline double wrap(double degrees) { return degrees - 360 * std::floor(degrees / 360 + 0.5); }

// Angles are in degrees: yaw to the right from +z, pitch up. Every call adds frames until done().
class TrajectorySimulator {
 public:
  TrajectorySimulator(const PathOptions& options, const Point& at, double yaw, Random random);

  bool done() const { return static_cast<int64_t>(poses_.size()) >= options_.frames; }
  double time() const { return static_cast<double>(poses_.size()) / options_.fps; }
  double left() const { return static_cast<double>(options_.frames) / options_.fps - time(); }
  const Point& position() const { return at_; }
  double yaw() const { return yaw_; }

  // A look aside while moving.
  struct Glance {
    double angle = 0;  // degrees to the right
    double start = 1;  // seconds after the start of the route
    double hold = 1;   // duration, seconds
  };
  // Moves along the route, looking ahead, with glances aside: `first_glance` first, then random
  // ones.
  void follow(const std::vector<Point>& route, const Glance* first_glance = nullptr);
  // Turns to `yaw`, in the shorter direction, and `pitch`.
  void look(double yaw, double pitch = 0);
  // Turns by a signed angle, which may exceed 180 degrees.
  void turn(double angle);
  void pause(double seconds);
  // Moves around `centre` by `orbit` degrees (to the right as seen from above) and turns by `turn`
  // degrees at the same time, in `seconds`. Starts and stops smoothly.
  void sweep(const Point& centre, double orbit, double turn, double seconds);

  std::vector<camera::Pose> poses() &&;

 private:
  // One time step. `aside` is the intended angle between viewing direction and route; other
  // deviations reduce the speed.
  void step(double yaw_target, double pitch_target, const std::vector<Point>* route,
            double aside = 0);
  void record();

  PathOptions options_;
  Random random_;
  Point at_;
  double yaw_, pitch_ = 0;
  double yaw_speed_ = 0, pitch_speed_ = 0, speed_ = 0;
  double along_ = 0;  // metres along the current route
  int substep_ = 0;
  std::vector<camera::Pose> poses_;
};

camera::Pose pose_at(const Point& at, double height, double yaw, double pitch);

}  // namespace loci::world
