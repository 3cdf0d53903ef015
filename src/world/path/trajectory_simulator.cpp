// SPDX-License-Identifier: Apache-2.0
#include "loci/world/path/trajectory_simulator.h"

namespace loci::world {

namespace {

constexpr int kSubsteps = 4;    // time steps per frame
constexpr double kSweepRamp = 1;  // seconds in which a sweep reaches its speed

double heading(const Point& d) { return exact_atan2(d.x, d.z) * (180 / kPi); }

Point point_along(const std::vector<Point>& route, double along) {
  for (size_t i = 0; i + 1 < route.size(); ++i) {
    const double piece = length(route[i + 1] - route[i]);
    if (along <= piece && piece > 0) return route[i] + (route[i + 1] - route[i]) * (along / piece);
    along -= piece;
  }
  return route.back();
}

// The next angular speed on the way to a target that is `error` away: limited by `limit` and
// `acceleration`, and falling in time to stop at the target.
double approach(double error, double speed, double limit, double acceleration, double dt) {
  const double wanted = std::sqrt(2 * acceleration * 0.6 * std::abs(error));
  const double target = std::min(wanted, limit) * (error < 0 ? -1 : 1);
  const double change = acceleration * dt;
  return speed + std::clamp(target - speed, -change, change);
}

}  // namespace

camera::Pose pose_at(const Point& at, double height, double yaw, double pitch) {
  const double cy = exact_cos(yaw * (kPi / 180)), sy = exact_sin(yaw * (kPi / 180));
  const double cp = exact_cos(pitch * (kPi / 180)), sp = exact_sin(pitch * (kPi / 180));
  camera::Pose pose;
  pose.rotation =
      camera::Mat3::from_columns({cy, 0, -sy}, {sy * sp, cp, cy * sp}, {sy * cp, -sp, cy * cp});
  pose.position = {at.x, -height, at.z};
  return pose;
}

TrajectorySimulator::TrajectorySimulator(const PathOptions& options, const Point& at, double yaw,
                                         Random random)
    : options_(options), random_(random), at_(at), yaw_(yaw) {
  record();
}

void TrajectorySimulator::record() {
  poses_.push_back(pose_at(at_, options_.eye_height, yaw_, pitch_));
}

void TrajectorySimulator::step(double yaw_target, double pitch_target,
                               const std::vector<Point>* route, double aside) {
  const double dt = 1 / (options_.fps * kSubsteps);
  const double error = wrap(yaw_target - yaw_);
  const Motion& motion = options_.motion;
  yaw_speed_ = approach(error, yaw_speed_, motion.turn_rate * motion.highest_turn_rate,
                        motion.turn_acceleration, dt);
  yaw_ += yaw_speed_ * dt;
  pitch_speed_ = approach(pitch_target - pitch_, pitch_speed_, motion.turn_rate * 0.6,
                          motion.pitch_acceleration, dt);
  pitch_ += pitch_speed_ * dt;
  double wanted = 0;
  if (route != nullptr) {
    // Slower in bends and towards the end of the route.
    const double rest = route_length(*route) - along_;
    const double ahead = heading(point_along(*route, along_ + 0.5) - at_);
    const double bend = std::max(0.0, std::abs(wrap(ahead - yaw_)) - std::abs(aside));
    wanted = motion.speed * std::clamp(1.25 - bend / 55, 0.12, 1.0);
    wanted = std::min(wanted, std::sqrt(2 * 0.8 * std::max(rest, 0.0)) + 0.03);
  }
  const double change = motion.acceleration * dt;
  speed_ += std::clamp(wanted - speed_, -change, change);
  if (route != nullptr) {
    along_ += std::max(speed_, 0.0) * dt;
    at_ = point_along(*route, along_);
  }
  if (++substep_ == kSubsteps) {
    substep_ = 0;
    if (!done()) record();
  }
}

void TrajectorySimulator::follow(const std::vector<Point>& route, const Glance* first_glance) {
  if (route.size() < 2) return;
  const double total = route_length(route);
  along_ = 0;
  // Turn towards the route, to within 50 degrees, before moving.
  const double first = heading(point_along(route, std::min(0.8, total)) - route.front());
  while (!done() && std::abs(wrap(first - yaw_)) > 50) step(first, 0, nullptr);
  double glance = 0, glance_left = 0, calm = random_.uniform(1, 3.5), tilt = 0;
  if (first_glance != nullptr) calm = first_glance->start;
  const double dt = 1 / (options_.fps * kSubsteps);
  while (!done() && along_ < total - 0.02) {
    if (glance_left > 0) {
      glance_left -= dt;
      if (glance_left <= 0) {
        glance = 0;
        tilt = 0;
        calm = random_.uniform(2, 5);
      }
    } else if ((calm -= dt) <= 0 && first_glance != nullptr) {
      glance = first_glance->angle;
      glance_left = first_glance->hold;
      first_glance = nullptr;
    } else if (calm <= 0 && options_.glances && total - along_ > 1.5) {
      glance = random_.uniform(15, 45) * (random_.chance(0.5) ? 1 : -1);
      tilt = options_.motion.tilt * random_.uniform(-4, 7);
      glance_left = random_.uniform(0.8, 1.8);
    }
    const Point ahead = point_along(route, std::min(along_ + 0.9, total));
    const double course = length(ahead - at_) > 0.05 ? heading(ahead - at_) : yaw_;
    step(course + glance, tilt, &route, glance);
  }
  speed_ = 0;
}

void TrajectorySimulator::look(double yaw, double pitch) {
  while (!done() && (std::abs(wrap(yaw - yaw_)) > 0.7 || std::abs(pitch - pitch_) > 0.7 ||
                     std::abs(yaw_speed_) > 4)) {
    step(yaw, pitch, nullptr);
  }
}

void TrajectorySimulator::turn(double angle) {
  // In steps below 180 degrees, so that the shorter direction is the requested one.
  const double sign = angle < 0 ? -1 : 1, goal = yaw_ + angle;
  while (!done() && (goal - yaw_) * sign > 90) step(yaw_ + 90 * sign, 0, nullptr);
  look(goal);
}

void TrajectorySimulator::pause(double seconds) {
  const double end = time() + seconds, yaw = yaw_, pitch = pitch_;
  while (!done() && time() < end) step(yaw, pitch, nullptr);
}

void TrajectorySimulator::sweep(const Point& centre, double orbit, double turn, double seconds) {
  const Point start = at_ - centre;
  const double yaw = yaw_, ramp = std::min(kSweepRamp / seconds, 0.5);
  const auto steps =
      std::max<int64_t>(1, static_cast<int64_t>(seconds * options_.fps * kSubsteps + 0.5));
  for (int64_t i = 1; i <= steps && !done(); ++i) {
    // The speed rises linearly in the first share `ramp` of the time and falls in the last.
    const double t = static_cast<double>(i) / static_cast<double>(steps);
    const double rest = 1 - t, top = 1 / (1 - ramp);
    const double part = t < ramp      ? 0.5 * top * t * t / ramp
                        : rest < ramp ? 1 - 0.5 * top * rest * rest / ramp
                                      : top * (t - 0.5 * ramp);
    const double angle = part * orbit * (kPi / 180);
    const double c = exact_cos(angle), s = exact_sin(angle);
    at_ = centre + Point{start.x * c + start.z * s, start.z * c - start.x * s};
    yaw_ = yaw + part * turn;
    if (++substep_ == kSubsteps) {
      substep_ = 0;
      if (!done()) record();
    }
  }
  yaw_speed_ = speed_ = 0;
}

std::vector<camera::Pose> TrajectorySimulator::poses() && {
  while (!done()) step(yaw_, pitch_, nullptr);
  return std::move(poses_);
}

}  // namespace loci::world
