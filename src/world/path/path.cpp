// SPDX-License-Identifier: Apache-2.0
#include "loci/world/path/path.h"

#include "loci/base/error.h"
#include "loci/world/path/trajectory_simulator.h"

namespace loci::world {

namespace {

// An earlier view to return to.
struct Stop {
  Point at;
  double yaw;
  double time;
};

constexpr double kTourAside = 22;  // degrees between the view and the middle
constexpr int kTourStops = 6;      // views of the tour to which the walk after it returns

class TrajectoryPlanner {
 public:
  TrajectoryPlanner(const FreeSpace& free_space, const Scene& scene, uint64_t seed,
                    const PathOptions& options)
      : free_space_(free_space), scene_(scene), options_(options), random_({seed, 0x70617468}) {
    // Paths differ in speed.
    Motion& motion = options_.motion;
    motion.speed *= random_.uniform(motion.speed_range[0], motion.speed_range[1]);
    motion.turn_rate *= random_.uniform(motion.turn_range[0], motion.turn_range[1]);
  }

  std::vector<camera::Pose> run() {
    const auto [start, yaw] = start_place();
    TrajectorySimulator simulator(options_, start, yaw, Random(random_.next()));
    stops_.push_back({start, yaw, 0});
    if (simulator.left() < 11) {
      short_clip(simulator);
    } else {
      walk(simulator);
    }
    return std::move(simulator).poses();
  }

  std::vector<camera::Pose> run_with_tour() {
    const double radius = scene_.tour_radius, around = random_.uniform(0, 360);
    const Point start{radius * exact_sin(around * (kPi / 180)),
                      radius * exact_cos(around * (kPi / 180))};
    // Once around the middle, looking past it: this shows the landmark there from all sides, and
    // everything else from the opposite side.
    const double whole = 360 * sign(), aside = whole > 0 ? kTourAside : -kTourAside;
    const double ahead = around + 180 + aside;
    TrajectorySimulator simulator(options_, start, ahead, Random(random_.next()));
    for (int part = 0; part < kTourStops; ++part) {
      const double share = static_cast<double>(part) / kTourStops;
      const double angle = (around + whole * share) * (kPi / 180);
      stops_.push_back({{radius * exact_sin(angle), radius * exact_cos(angle)},
                        ahead + whole * share,
                        share * kTourSeconds});
    }
    simulator.sweep({0, 0}, whole, whole, kTourSeconds);
    walk(simulator);
    return std::move(simulator).poses();
  }

 private:
  void walk(TrajectorySimulator& simulator) {
    while (!simulator.done()) {
      if (options_.returns) {
        episode(simulator);
      } else {
        go_on(simulator, 3, 14);
        if (!simulator.done()) look_about(simulator);
      }
    }
  }

  std::pair<Point, double> start_place() {
    // A viewpoint with a random offset, so that clips of a scene start differently.
    for (int attempt = 0; attempt < 40; ++attempt) {
      const Place& place = scene_.viewpoints[random_.below(scene_.viewpoints.size())];
      const Point wish{place.x + random_.uniform(-1.2, 1.2), place.z + random_.uniform(-1.2, 1.2)};
      const double yaw = place.rotation + random_.uniform(-25, 25);
      const auto free = free_space_.nearest_free(wish, 0.9);
      if (!free) break;
      if (length(*free - wish) < 1.5 && free_space_.open_distance(*free, yaw, 4) > 2.5)
        return {*free, yaw};
    }
    const auto anywhere = free_space_.nearest_free({0, 0});
    if (!anywhere) fail("scene {} has no free place for a camera", scene_.seed);
    return {*anywhere, open_view(*anywhere, 0, 180)};
  }

  double tilt(double low, double high) { return options_.motion.tilt * random_.uniform(low, high); }
  double sign() { return random_.chance(0.5) ? 1 : -1; }
  double turn_time(double degrees) const {
    return std::abs(degrees) / options_.motion.turn_rate + 0.7;
  }
  double travel_time(double metres) const { return metres / options_.motion.speed + 0.8; }

  // A direction within `spread` degrees of `yaw` with a long free distance.
  double open_view(const Point& at, double yaw, double spread) {
    double best = -1, result = yaw;
    for (int i = 0; i < 7; ++i) {
      const double candidate = yaw + random_.uniform(-spread, spread);
      const double open = free_space_.open_distance(at, candidate, 9) + random_.uniform(0, 1.5);
      if (open > best) {
        best = open;
        result = candidate;
      }
    }
    return result;
  }

  // A route of `low` to `high` metres to a place with clearance, in half of the cases a viewpoint,
  // that starts within `spread` degrees of the viewing direction. Empty if none is found.
  std::vector<Point> find_route(const TrajectorySimulator& simulator, double low, double high,
                                double spread) {
    const Point from = simulator.position();
    for (int attempt = 0; attempt < 14; ++attempt) {
      Point wish;
      if (random_.chance(0.5)) {
        const Place& place = scene_.viewpoints[random_.below(scene_.viewpoints.size())];
        wish = {place.x, place.z};
      } else {
        const double yaw = open_view(from, simulator.yaw(), spread) * (kPi / 180),
                     reach = random_.uniform(low, high);
        wish = {from.x + reach * exact_sin(yaw), from.z + reach * exact_cos(yaw)};
      }
      const double away = length(wish - from);
      if (away > high) wish = from + (wish - from) * (random_.uniform(low, high) / away);
      const double bearing = exact_atan2(wish.x - from.x, wish.z - from.z) * (180 / kPi);
      if (std::abs(wrap(bearing - simulator.yaw())) > spread) continue;
      const auto free = free_space_.nearest_free(wish, 1.1);
      if (!free || length(*free - from) < 0.6 * low) continue;
      std::vector<Point> route = free_space_.route(from, *free);
      if (route.size() >= 2 && route_length(route) < 1.4 * high) return route;
    }
    return {};
  }

  void go_on(TrajectorySimulator& simulator, double low, double high) {
    std::vector<Point> route = find_route(simulator, low, high, 75);
    if (route.empty()) route = find_route(simulator, low, high, 180);
    if (route.empty()) {
      simulator.look(open_view(simulator.position(), simulator.yaw() + 120 * sign(), 80));
    } else {
      simulator.follow(route);
    }
  }

  // Turns to an open view, sometimes to another one first, and stores the last as a stop.
  void look_about(TrajectorySimulator& simulator) {
    const Point at = simulator.position();
    if (random_.chance(0.35)) simulator.look(open_view(at, simulator.yaw(), 80), tilt(-5, 8));
    if (random_.chance(0.4)) simulator.pause(random_.uniform(0.2, 0.9));
    if (random_.chance(0.75)) simulator.look(open_view(at, simulator.yaw(), 110));
    if (random_.chance(0.3)) simulator.pause(random_.uniform(0.2, 0.8));
    stops_.push_back({at, simulator.yaw(), simulator.time()});
  }

  // Paths shorter than 11 s: look away and back, move a few steps, or both.
  void short_clip(TrajectorySimulator& simulator) {
    const double duration = simulator.left(), kind = random_.uniform(), yaw = simulator.yaw();
    if (!options_.returns) {
      if (kind < 0.25) simulator.look(open_view(simulator.position(), yaw, 120));
      go_on(simulator, 2, 7);
      if (!simulator.done()) look_about(simulator);
      return;
    }
    // Looking away and back takes twice the time of the turn.
    const double most = std::max(20.0, (0.5 * duration - 0.9) * options_.motion.turn_rate);
    const double sweep = std::min(random_.uniform(62, 115), most);
    if (kind < 0.35) {
      simulator.turn(sweep * sign());
      simulator.look(yaw);
      go_on(simulator, 2, 5);
    } else if (kind < 0.75) {
      // Move on while looking aside and ahead again.
      const std::vector<Point> route = find_route(simulator, 2.5, 6, 40);
      const TrajectorySimulator::Glance glance{sweep * sign(), random_.uniform(0.2, 0.7),
                                               sweep / options_.motion.turn_rate + 0.2};
      if (route.empty()) {
        simulator.turn(glance.angle);
        simulator.look(yaw);
      } else {
        simulator.follow(route, &glance);
      }
    } else {
      go_on(simulator, 0.8, std::max(1.2, 0.25 * duration));
      const double there = simulator.yaw();
      simulator.turn(0.7 * sweep * sign());
      simulator.look(there);
    }
  }

  // One part of a longer path. It returns to an earlier view if the time permits.
  void episode(TrajectorySimulator& simulator) {
    const double left = simulator.left(), kind = random_.uniform();
    if (options_.motion.orbit_share > 0 && random_.chance(options_.motion.orbit_share) &&
        orbit(simulator))
      return;
    if (stops_.size() > 2 && left > 9 && random_.chance(0.55) && go_back(simulator)) return;
    if (kind < 0.22 && left > turn_time(360) + 1) return spin(simulator);
    if (kind < 0.50 && left > 14 && circle(simulator)) return;
    if (kind < 0.80 && left > turn_time(400) + 3 && out_and_back(simulator)) return;
    if (left > 10 && kind < 0.9 && look_away(simulator)) return;
    go_on(simulator, 2.5, std::clamp(0.45 * left * options_.motion.speed, 3.0, 13.0));
    if (!simulator.done()) look_about(simulator);
  }

  void spin(TrajectorySimulator& simulator) {
    simulator.turn(360 * sign());
    simulator.pause(random_.uniform(0.2, 0.8));
  }

  // Turns away for a while, looks around there, and turns back.
  bool look_away(TrajectorySimulator& simulator) {
    const Stop stop{simulator.position(), simulator.yaw(), simulator.time()};
    const double away = random_.uniform(80, 150) * sign();
    simulator.turn(away);
    if (simulator.left() < 7) return true;
    const double spare = std::max(0.0, 8.2 - 2 * turn_time(away));
    simulator.look(stop.yaw + 1.4 * away, tilt(-6, 10));
    if (spare > 1.5) simulator.pause(0.4 * spare);
    simulator.look(stop.yaw + 0.8 * away);
    while (!simulator.done() && simulator.time() - stop.time < 8.1 - turn_time(away))
      simulator.pause(0.2);
    simulator.look(stop.yaw);
    simulator.pause(random_.uniform(0.4, 1.2));
    return true;
  }

  bool out_and_back(TrajectorySimulator& simulator) {
    const Stop stop{simulator.position(), simulator.yaw(), simulator.time()};
    const double budget = simulator.left() - turn_time(60) - 2 * turn_time(180) - 2.5;
    const double farthest = std::min(0.5 * budget * options_.motion.speed, 12.0);
    if (farthest < 0.9) return false;
    const std::vector<Point> route =
        find_route(simulator, std::max(0.9, 0.45 * farthest), farthest / 1.15, 75);
    if (route.empty()) return false;
    simulator.follow(route);
    if (random_.chance(0.5)) simulator.pause(random_.uniform(0.1, 0.5));
    std::vector<Point> back(route.rbegin(), route.rend());
    if (simulator.done()) return true;
    simulator.follow(back);
    simulator.look(stop.yaw);
    simulator.pause(random_.uniform(0.3, 0.9));
    return true;
  }

  // Moves once around a circle, looking ahead, and a little further: this shows the start again.
  bool circle(TrajectorySimulator& simulator) {
    const Point start = simulator.position();
    const double yaw = simulator.yaw(), side = sign();
    for (const double radius : {random_.uniform(1.7, 3.2), 1.9, 1.6}) {
      if (travel_time(2 * kPi * radius) + 2 > simulator.left()) continue;
      for (const double hand : {side, -side}) {
        const double right = (yaw + 90 * hand) * (kPi / 180);
        const Point centre{start.x + radius * exact_sin(right),
                           start.z + radius * exact_cos(right)};
        std::vector<Point> route;
        bool free = true;
        for (int i = 0; i <= 60 && free; ++i) {
          const double angle = right + kPi + hand * 2 * kPi * i / 48;
          route.push_back(
              {centre.x + radius * exact_sin(angle), centre.z + radius * exact_cos(angle)});
          free = free_space_.is_free(route.back()) && free_space_.clearance(route.back()) > 0.7;
        }
        if (!free) continue;
        simulator.follow(route);
        return true;
      }
    }
    return false;
  }

  // Moves around the middle of the scene while turning with it, then sometimes the same way back.
  // Where turns are slow, this shows more of a scene and returns earlier than walking straight.
  bool orbit(TrajectorySimulator& simulator) {
    const Point start = simulator.position();
    const double radius = length(start), side = sign(), wish = random_.uniform(50, 130);
    if (radius < 1.5) return false;
    const Motion& motion = options_.motion;
    for (const double angle : {side * wish, -side * wish, side * 0.6 * wish, -side * 0.6 * wish}) {
      const double seconds = 1 + std::max(std::abs(angle) / motion.turn_rate,
                                          std::abs(angle) * (kPi / 180) * radius / motion.speed);
      if (seconds > simulator.left() || !arc_is_free(start, angle)) continue;
      stops_.push_back({start, simulator.yaw(), simulator.time()});
      simulator.sweep({0, 0}, angle, angle, seconds);
      simulator.pause(random_.uniform(0.1, 0.6));
      if (random_.chance(0.4)) simulator.sweep({0, 0}, -angle, -angle, seconds);
      return true;
    }
    return false;
  }

  // Whether the arc of `angle` degrees around the origin from `start` keeps clear of obstacles.
  bool arc_is_free(const Point& start, double angle) const {
    const int steps = static_cast<int>(std::abs(angle) / 2) + 1;
    for (int i = 0; i <= steps; ++i) {
      const double part = angle * i / steps * (kPi / 180);
      const double c = exact_cos(part), s = exact_sin(part);
      const Point p{start.x * c + start.z * s, start.z * c - start.x * s};
      if (!free_space_.is_free(p) || free_space_.clearance(p) < 0.7) return false;
    }
    return true;
  }

  // Returns to an earlier stop and to its viewing direction.
  bool go_back(TrajectorySimulator& simulator) {
    std::vector<size_t> candidates;
    for (size_t i = 0; i < stops_.size(); ++i) {
      const double needed =
          travel_time(1.15 * length(stops_[i].at - simulator.position())) + turn_time(120);
      if (needed + 3 < simulator.left() && simulator.time() + needed - stops_[i].time > 9)
        candidates.push_back(i);
    }
    if (candidates.empty()) return false;
    // The older half of the stops is preferred.
    const size_t pick = random_.chance(0.6) ? candidates[random_.below((candidates.size() + 1) / 2)]
                                            : candidates[random_.below(candidates.size())];
    const Stop stop = stops_[pick];
    if (length(stop.at - simulator.position()) > 0.1) {
      const std::vector<Point> route = free_space_.route(simulator.position(), stop.at);
      if (route.size() < 2) return false;
      simulator.follow(route);
    }
    simulator.look(stop.yaw);
    simulator.pause(random_.uniform(0.2, 0.7));
    return true;
  }

  const FreeSpace& free_space_;
  const Scene& scene_;
  PathOptions options_;
  Random random_;
  std::vector<Stop> stops_;
};

}  // namespace

std::vector<camera::Pose> make_path(const FreeSpace& free_space, const Scene& scene, uint64_t seed,
                                    const PathOptions& options) {
  LOCI_CHECK(options.frames > 0 && options.fps > 0, "a path of {} frames at {} fps", options.frames,
             options.fps);
  return TrajectoryPlanner(free_space, scene, seed, options).run();
}

std::vector<camera::Pose> make_tour(const FreeSpace& free_space, const Scene& scene, uint64_t seed,
                                    const PathOptions& options) {
  if (scene.tour_radius <= 0) fail("scenes of the style {} have no tour", name_of(scene.style));
  return TrajectoryPlanner(free_space, scene, seed, options).run_with_tour();
}

}  // namespace loci::world
