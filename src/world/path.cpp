// SPDX-License-Identifier: Apache-2.0
#include "loci/world/path.h"

#include <array>

#include "loci/base/error.h"
#include "loci/world/walker.h"

namespace loci::world {

namespace {

// A place that was looked at, to come back to.
struct Stop {
  Point at;
  double yaw;
  double time;
};

class Tour {
 public:
  Tour(const Walkable& walkable, const World& world, uint64_t seed, const PathOptions& options)
      : walkable_(walkable), world_(world), options_(options), random_({seed, 0x70617468}) {}

  std::vector<camera::Pose> run() {
    const auto [start, yaw] = start_place();
    Walker walker(options_, start, yaw, Random(random_.next()));
    stops_.push_back({start, yaw, 0});
    const double duration = static_cast<double>(options_.frames) / options_.fps;
    if (duration < 11) {
      short_clip(walker, duration);
    } else {
      if (random_.chance(0.5)) walker.pause(random_.uniform(0.2, 1));
      while (!walker.done()) next(walker);
    }
    return std::move(walker).poses();
  }

 private:
  std::pair<Point, double> start_place() {
    // A viewpoint, moved and turned a little so that no two clips of a world begin alike.
    for (int attempt = 0; attempt < 40; ++attempt) {
      const Place& place = world_.viewpoints[random_.below(world_.viewpoints.size())];
      const Point wish{place.x + random_.uniform(-1.2, 1.2), place.z + random_.uniform(-1.2, 1.2)};
      const double yaw = place.turn + random_.uniform(-25, 25);
      const auto free = walkable_.nearest_free(wish);
      if (!free) break;
      if (length(*free - wish) < 1.5) return {*free, yaw};
    }
    const auto anywhere = walkable_.nearest_free({0, 0});
    if (!anywhere) fail("world {} has no place to walk", world_.seed);
    return {*anywhere, random_.uniform(0, 360)};
  }

  // A free place about `distance` metres away along a route.
  std::vector<Point> way_to_new_place(const Point& from, double low, double high) {
    std::vector<Point> best;
    for (int attempt = 0; attempt < 12; ++attempt) {
      Point wish;
      if (random_.chance(0.6)) {
        const Place& place = world_.viewpoints[random_.below(world_.viewpoints.size())];
        wish = {place.x, place.z};
      } else {
        const double angle = random_.uniform(0, 2 * kPi), reach = random_.uniform(low, high);
        wish = {from.x + reach * exact_sin(angle), from.z + reach * exact_cos(angle)};
      }
      const double away = length(wish - from);
      if (away > high) wish = from + (wish - from) * (random_.uniform(low, high) / away);
      const auto free = walkable_.nearest_free(wish);
      if (!free || length(*free - from) < 0.6 * low) continue;
      std::vector<Point> way = walkable_.route(from, *free);
      double total = 0;
      for (size_t i = 0; i + 1 < way.size(); ++i) total += length(way[i + 1] - way[i]);
      if (way.size() >= 2 && total < 1.5 * high) return way;
    }
    return best;
  }

  // Below 11 s nobody gets far: look away and back, walk a few steps, or both.
  void short_clip(Walker& walker, double duration) {
    const double kind = random_.uniform();
    const double yaw = walker.yaw();
    if (!options_.returns) {
      if (kind < 0.25) {
        walker.turn(random_.uniform(60, 30 * duration) * sign());
      }
      go_on(walker, 2, 6);
      walker.pause(0.2);
      if (!walker.done()) walker.turn(random_.uniform(40, 120) * sign());
      return;
    }
    const double sweep = std::min(random_.uniform(62, 110), 13.0 * (duration - 0.6));
    if (kind < 0.5) {
      walker.turn(sweep * sign());
      walker.pause(random_.uniform(0, 0.3));
      walker.look(yaw);
      go_on(walker, 2, 5);
    } else if (kind < 0.75 && duration > 7) {
      const std::vector<Point> way = way_to_new_place(walker.position(), 0.7, 1.2);
      walker.turn(sweep * 0.9 * sign());
      if (way.size() >= 2) walker.pause(0.3);
      walker.look(yaw + random_.uniform(-12, 12));
      walker.turn(-sweep * sign());
    } else {
      go_on(walker, 1.2, 2.2);
      const double there = walker.yaw();
      walker.turn(sweep * sign());
      walker.look(there);
    }
  }

  double sign() { return random_.chance(0.5) ? 1 : -1; }

  void go_on(Walker& walker, double low, double high) {
    const std::vector<Point> way = way_to_new_place(walker.position(), low, high);
    if (way.size() >= 2) {
      walker.walk(way);
    } else {
      walker.turn(random_.uniform(60, 150) * sign());
    }
  }

  // One leg of a longer walk.
  void next(Walker& walker) {
    const double left = walker.left();
    const bool can_return = options_.returns && !stops_.empty();
    if (can_return && random_.chance(0.5) && go_back(walker)) return;
    if (options_.returns && left > 13 && random_.chance(0.22)) {
      walker.turn((random_.chance(0.7) ? 360 : random_.uniform(150, 280)) * sign());
      return;
    }
    // Far enough to leave the view, near enough to be back before the end.
    const double far = options_.returns ? std::clamp(0.36 * left, 2.5, 13.0) : 14.0;
    go_on(walker, std::min(3.0, 0.6 * far), far);
    if (walker.done()) return;
    arrive(walker);
  }

  // Looks at something from a new place and remembers it.
  void arrive(Walker& walker) {
    if (random_.chance(0.55)) {
      const double middle = walker.yaw(), reach = random_.uniform(30, 75);
      const double first = sign();
      walker.look(middle + first * reach, random_.uniform(-5, 8));
      if (random_.chance(0.5)) walker.pause(random_.uniform(0.2, 0.8));
      walker.look(middle - first * reach * random_.uniform(0.3, 1.0));
    } else if (random_.chance(0.4)) {
      walker.pause(random_.uniform(0.4, 1.6));
    }
    stops_.push_back({walker.position(), walker.yaw(), walker.time()});
  }

  // Returns to a stop of at least some seconds ago and looks the way one looked then.
  bool go_back(Walker& walker) {
    std::vector<size_t> candidates;
    for (size_t i = 0; i < stops_.size(); ++i) {
      const double walk = length(stops_[i].at - walker.position()) / options_.speed;
      const double arrival = walker.time() + walk * 1.2 + 2;
      if (walk * 1.3 + 2 < walker.left() && arrival - stops_[i].time > 8) candidates.push_back(i);
    }
    if (candidates.empty()) return false;
    // In long walks mostly places of long ago.
    const size_t pick = random_.chance(0.6) ? candidates[random_.below((candidates.size() + 1) / 2)]
                                            : candidates[random_.below(candidates.size())];
    const Stop stop = stops_[pick];
    if (length(stop.at - walker.position()) > 0.3) {
      const std::vector<Point> way = walkable_.route(walker.position(), stop.at);
      if (way.size() < 2) return false;
      walker.walk(way);
    }
    walker.look(stop.yaw);
    walker.pause(random_.uniform(0.1, 0.6));
    return true;
  }

  const Walkable& walkable_;
  const World& world_;
  PathOptions options_;
  Random random_;
  std::vector<Stop> stops_;
};

constexpr std::array<std::string_view, kDesignedPaths> kDesignedNames = {
    "static", "straight", "spin", "look-around", "look-around-pitch", "out-and-back", "square"};

// Free metres straight ahead, at most `limit`.
double room_ahead(const Walkable& walkable, const Point& from, double yaw, double limit) {
  const Point step{exact_sin(yaw * (kPi / 180)) * 0.1, exact_cos(yaw * (kPi / 180)) * 0.1};
  double reach = 0;
  while (reach < limit && walkable.is_free(from + step * (reach * 10 + 1))) reach += 0.1;
  return reach;
}

}  // namespace

std::vector<camera::Pose> make_path(const Walkable& walkable, const World& world, uint64_t seed,
                                    const PathOptions& options) {
  LOCI_CHECK(options.frames > 0 && options.fps > 0, "a path of {} frames at {} fps", options.frames, options.fps);
  return Tour(walkable, world, seed, options).run();
}

std::string_view name_of(DesignedPath path) { return kDesignedNames[static_cast<size_t>(path)]; }

DesignedPath parse_designed_path(std::string_view name) {
  for (size_t i = 0; i < kDesignedNames.size(); ++i) {
    if (kDesignedNames[i] == name) return static_cast<DesignedPath>(i);
  }
  fail("the path is '{}'; it must be static, straight, spin, look-around, look-around-pitch, out-and-back or square", name);
}

std::vector<camera::Pose> make_designed_path(const Walkable& walkable, const World& world,
                                             DesignedPath path, uint64_t seed, const PathOptions& options) {
  Random random{seed, 0x646573};
  const double duration = static_cast<double>(options.frames) / options.fps;
  // The viewpoint and direction with the most room, among a few.
  Point start;
  double yaw = 0, room = -1;
  const double wish = path == DesignedPath::kSquare ? std::min(4.0, duration / 6) : std::min(12.0, 0.9 * duration * options.speed);
  for (int attempt = 0; attempt < 24; ++attempt) {
    const Place& place = world.viewpoints[random.below(world.viewpoints.size())];
    const auto free = walkable.nearest_free({place.x, place.z});
    if (!free) continue;
    double reach = room_ahead(walkable, *free, place.turn, wish);
    if (path == DesignedPath::kSquare) {
      const Point ahead{free->x + reach * exact_sin(place.turn * (kPi / 180)), free->z + reach * exact_cos(place.turn * (kPi / 180))};
      reach = std::min(reach, room_ahead(walkable, ahead, place.turn + 90, reach));
      const Point corner{ahead.x + reach * exact_sin((place.turn + 90) * (kPi / 180)), ahead.z + reach * exact_cos((place.turn + 90) * (kPi / 180))};
      reach = std::min(reach, room_ahead(walkable, corner, place.turn + 180, reach));
    }
    if (reach > room) {
      room = reach;
      start = *free;
      yaw = place.turn;
    }
  }
  if (room < 0) fail("world {} has no place to walk", world.seed);
  Walker walker(options, start, yaw, Random(random.next()));
  const auto ahead = [&](const Point& from, double angle, double reach) {
    return Point{from.x + reach * exact_sin(angle * (kPi / 180)), from.z + reach * exact_cos(angle * (kPi / 180))};
  };
  const double reach = std::max(room - 0.05, 0.3);
  switch (path) {
    case DesignedPath::kStatic:
      break;
    case DesignedPath::kStraight:
      walker.walk({start, ahead(start, yaw, reach)});
      break;
    case DesignedPath::kSpin:
      while (!walker.done()) walker.turn(360);
      break;
    case DesignedPath::kLookAround:
      while (!walker.done()) {
        for (const double angle : {60.0, 0.0, -60.0, 0.0}) walker.look(yaw + angle);
      }
      break;
    case DesignedPath::kLookAroundPitch:
      while (!walker.done()) {
        walker.look(yaw + 60, 12);
        walker.look(yaw, 0);
        walker.look(yaw - 60, -12);
        walker.look(yaw, 0);
      }
      break;
    case DesignedPath::kOutAndBack:
      while (!walker.done()) {
        const Point end = ahead(start, yaw, std::min(reach, 0.3 * duration * options.speed));
        walker.walk({start, end});
        walker.turn(180);
        walker.walk({end, start});
        walker.turn(180);
      }
      break;
    case DesignedPath::kSquare: {
      Point corner = start;
      while (!walker.done()) {
        for (int side = 0; side < 4; ++side) {
          const Point to = side == 3 ? start : ahead(corner, yaw + 90 * side, reach);
          walker.walk({corner, to});
          walker.look(yaw + 90 * (side + 1));
          corner = to;
        }
      }
      break;
    }
  }
  return std::move(walker).poses();
}

}  // namespace loci::world
