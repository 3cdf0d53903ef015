// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/path/presets.h"

#include <algorithm>
#include <array>
#include <functional>

#include "loci/base/choice.h"
#include "loci/base/error.h"
#include "loci/base/text.h"
#include "loci/camera/lens.h"
#include "loci/camera/path/resample.h"
#include "loci/camera/statistics.h"

namespace loci::camera {

namespace {

// The speed rises during the first quarter of a leg and falls during the last. Its peak is 4/3 of
// the mean.
constexpr double kRamp = 0.25;
constexpr double kPeak = 1 / (1 - kRamp);
constexpr double kDefaultSeconds = 20;

// The share of a leg covered after share t of its time. The speed follows a raised cosine up, is
// constant, and follows a raised cosine down.
double eased(double t) {
  if (t <= 0) return 0;
  if (t > 0.5) return 1 - eased(1 - t);
  const double u = std::min(t / kRamp, 1.0);
  const double ramp = kRamp * (u / 2 - std::sin(std::numbers::pi * u) / (2 * std::numbers::pi));
  return kPeak * (ramp + std::max(0.0, t - kRamp));
}

// A part of a path from standstill to standstill. `pose` takes the share covered, from 0 to 1.
struct Leg {
  double metres;   // along the path
  double radians;  // rotation along the path
  std::function<Pose(double)> pose;

  // Duration at the training speeds.
  double seconds() const {
    return kPeak * std::max(metres / kTrainedSpeed, radians / kTrainedTurn);
  }
};

Pose heading(double yaw, const Vec3& position = {}) {
  return {rotation_from_angles(yaw, 0), position};
}

Leg turn(const Pose& from, double angle) {
  return {0, std::abs(angle), [from, angle](double s) { return from * heading(angle * s); }};
}

Leg walk(const Pose& from, double metres) {
  return {std::abs(metres), 0, [from, metres](double s) {
            return from * heading(0, {0, 0, metres * s});
          }};
}

// A circle around a point `radius` ahead of the identity, looking at that point. Positive angles go
// right.
Leg orbit(double from, double to, double radius) {
  return {std::abs(to - from) * radius, std::abs(to - from), [=](double s) {
            const Mat3 rotation = rotation_from_angles(-(from + (to - from) * s), 0);
            return Pose{rotation, Vec3{0, 0, radius} - rotation.column(2) * radius};
          }};
}

using Legs = std::vector<Leg>;

void go_on(Legs& legs, const std::function<Leg(const Pose&)>& next) {
  legs.push_back(next(legs.empty() ? Pose{} : legs.back().pose(1)));
}

Legs stand(double, double) {
  return {{0, 0, [](double) { return Pose{}; }}};
}

Legs straight(double, double distance) { return {walk({}, distance)}; }

// Like look_around, looking up at the right end and down at the left end.
Legs look_around_pitch(double angle, double) {
  constexpr double kPitch = radians(20);
  const auto look = [angle](double from, double to) {
    return Leg{0, std::hypot(angle, kPitch) * std::abs(to - from), [=](double s) {
                 const double side = from + (to - from) * s;
                 return Pose{rotation_from_angles(angle * side, kPitch * side), {}};
               }};
  };
  return {look(0, 1), look(1, -1), look(-1, 0)};
}

Legs look_around(double angle, double) {
  Legs legs;
  for (const double by : {angle, -2 * angle, angle}) {
    go_on(legs, [by](const Pose& from) { return turn(from, by); });
  }
  return legs;
}

Legs forward_back(double, double distance) {
  Legs legs;
  for (const double by : {distance, -distance}) {
    go_on(legs, [by](const Pose& from) { return walk(from, by); });
  }
  return legs;
}

Legs orbit_return(double angle, double distance) {
  return {orbit(0, angle, distance), orbit(angle, 0, distance)};
}

Legs walk_turn(double angle, double distance) {
  Legs legs = {walk({}, distance)};
  go_on(legs, [=](const Pose& from) { return turn(from, angle); });
  go_on(legs, [=](const Pose& from) { return walk(from, distance); });
  return legs;
}

Legs square(double, double distance) {
  Legs legs;
  for (int side = 0; side < 4; ++side) {
    go_on(legs, [=](const Pose& from) { return walk(from, distance); });
    go_on(legs, [=](const Pose& from) { return turn(from, std::numbers::pi / 2); });
  }
  return legs;
}

Legs spin(double angle, double) { return {turn({}, angle)}; }

struct Maker {
  Preset preset;
  Legs (*legs)(double angle, double distance);
};

constexpr std::array kMakers = {
    Maker{{"look_around", "look right by the angle, left by it, and back to the front", 70, 0},
          look_around},
    Maker{{"forward_back", "walk forward by the distance, then backwards to the start", 0, 4},
          forward_back},
    Maker{{"orbit_return", "circle by the angle around a point ahead, looking at it, and back", 60,
           4},
          orbit_return},
    Maker{{"walk_turn", "walk the distance, turn by the angle, walk the distance again", 180, 3},
          walk_turn},
    Maker{{"square", "walk a square of that side, turning right at its corners", 0, 2}, square},
    Maker{{"spin", "turn right on the spot by the angle", 360, 0}, spin},
    Maker{{"static", "stand still", 0, 0}, stand},
    Maker{{"straight", "walk forward by the distance", 0, 6}, straight},
    Maker{{"look_around_pitch", "like look_around, 20 degrees up at the right and down at the left",
           70, 0},
          look_around_pitch},
};

const Maker& find_maker(std::string_view name) {
  std::vector<std::string> names;
  for (const Maker& maker : kMakers) {
    if (maker.preset.name == name) return maker;
    names.emplace_back(maker.preset.name);
  }
  fail_choice("preset", name, names);
}

double choose(std::optional<double> wanted, double fallback, std::string_view name,
              std::string_view what, double largest) {
  if (wanted && fallback == 0) fail("preset {} takes no {}", name, what);
  if (wanted && !(*wanted > 0 && *wanted <= largest)) {
    fail("preset {}: the {} is {}; it must be above 0 and at most {}", name, what, *wanted,
         largest);
  }
  return wanted.value_or(fallback);
}

}  // namespace

std::vector<Preset> presets() {
  std::vector<Preset> list;
  for (const Maker& maker : kMakers) list.push_back(maker.preset);
  return list;
}

Trajectory make_preset(std::string_view name, const PresetOptions& options) {
  const Maker& maker = find_maker(name);
  const double angle = choose(options.angle, maker.preset.angle, name, "angle", 3600);
  const double distance = choose(options.distance, maker.preset.distance, name, "distance", 1000);
  const Legs legs = maker.legs(radians(angle), distance);
  double needed = 0;
  for (const Leg& leg : legs) needed += leg.seconds();

  const double seconds = options.seconds.value_or(std::max(kDefaultSeconds, needed));
  const double chunks =
      std::ceil(seconds * options.fps / static_cast<double>(kPathGrid.frames_per_chunk()) - 1e-9);
  if (!(options.fps > 0 && chunks >= 1 && chunks <= 1e6)) {
    fail("preset {}: {} s at {} frames per second; expected 1 to 1e6 chunks of frames", name,
         seconds, options.fps);
  }
  const auto frames = static_cast<int64_t>(chunks) * kPathGrid.frames_per_chunk();

  const Lens lens = lens_from_fov(options.fov_x);
  Trajectory path;
  path.fps = options.fps;
  size_t leg = 0;
  double begin = 0;  // of the leg, in seconds at training speed
  for (int64_t frame = 0; frame <= frames; ++frame) {
    const double time = needed * static_cast<double>(frame) / static_cast<double>(frames);
    while (leg + 1 < legs.size() && time >= begin + legs[leg].seconds()) {
      begin += legs[leg++].seconds();
    }
    const double whole = legs[leg].seconds();
    path.cameras.push_back({legs[leg].pose(whole > 0 ? eased((time - begin) / whole) : 0), lens});
  }
  path.cameras.front().pose = Pose{};
  path.cameras.back().pose = legs.back().pose(1);
  return path;
}

}  // namespace loci::camera
