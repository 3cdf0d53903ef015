// SPDX-License-Identifier: Apache-2.0
// The designed paths of path.h: exact motions without random deviations.
#include "loci/base/error.h"
#include "loci/world/path/path.h"
#include "loci/world/path/trajectory_simulator.h"
#include "loci/world/scene/name_list.h"

namespace loci::world {

namespace {

constexpr std::string_view kDesignedNames[kDesignedPaths] = {
    "static", "straight", "spin", "look-around", "look-around-pitch", "out-and-back", "square"};

constexpr double kStartClearance = 0.9;  // metres

Point ahead(const Point& from, double yaw, double reach) {
  return {from.x + reach * exact_sin(yaw * (kPi / 180)),
          from.z + reach * exact_cos(yaw * (kPi / 180))};
}

// Free distance straight ahead, at most `limit` metres.
double room_ahead(const FreeSpace& free_space, const Point& from, double yaw, double limit) {
  double reach = 0;
  while (reach < limit && free_space.is_free(ahead(from, yaw, reach + 0.1))) reach += 0.1;
  return std::min(reach, limit);
}

// The side of a free square to the right, at most `limit` metres; 0 if there is none.
double square_room(const FreeSpace& free_space, const Point& from, double yaw, double limit) {
  const double side = room_ahead(free_space, from, yaw, limit);
  Point corner = ahead(from, yaw, side);
  for (int i = 1; i < 4; ++i) {
    if (room_ahead(free_space, corner, yaw + 90 * i, side) < side) return 0;
    corner = ahead(corner, yaw + 90 * i, side);
  }
  return side;
}

struct Start {
  Point at;
  double yaw = 0;
  double room = -1;  // free distance ahead or side of the free square, metres
};

// The viewpoint with the most free space for the path, among several random ones.
Start find_start(const FreeSpace& free_space, const Scene& scene, DesignedPath path,
                 const PathOptions& options, Random& random) {
  const double duration = static_cast<double>(options.frames) / options.fps;
  Start best;
  for (int attempt = 0; attempt < 40; ++attempt) {
    const Place& place = scene.viewpoints[random.below(scene.viewpoints.size())];
    const auto free = free_space.nearest_free({place.x, place.z}, kStartClearance);
    if (!free) continue;
    const double room = path == DesignedPath::kSquare
                            ? square_room(free_space, *free, place.rotation,
                                          random.uniform(0.4, 1) * std::min(4.0, duration / 6))
                            : room_ahead(free_space, *free, place.rotation,
                                         std::min(12.0, 0.9 * duration * options.motion.speed));
    if (room > best.room) best = {*free, place.rotation, room};
  }
  if (best.room < 0) fail("scene {} has no free place for a camera", scene.seed);
  // Every start has at least this much free space around it.
  best.room = std::max(best.room - 0.05, kStartClearance - FreeSpace::kMargin);
  return best;
}

void follow(DesignedPath path, const Start& start, double longest, TrajectorySimulator& simulator) {
  const double yaw = start.yaw;
  switch (path) {
    case DesignedPath::kStatic:
      break;
    case DesignedPath::kStraight:
      simulator.follow({start.at, ahead(start.at, yaw, start.room)});
      break;
    case DesignedPath::kSpin:
      while (!simulator.done()) simulator.turn(360);
      break;
    case DesignedPath::kLookAround:
      while (!simulator.done()) {
        for (const double angle : {60.0, 0.0, -60.0, 0.0}) simulator.look(yaw + angle);
      }
      break;
    case DesignedPath::kLookAroundPitch:
      while (!simulator.done()) {
        simulator.look(yaw + 60, 12);
        simulator.look(yaw, 0);
        simulator.look(yaw - 60, -12);
        simulator.look(yaw, 0);
      }
      break;
    case DesignedPath::kOutAndBack:
      while (!simulator.done()) {
        const Point end = ahead(start.at, yaw, std::min(start.room, longest));
        simulator.follow({start.at, end});
        simulator.turn(180);
        simulator.follow({end, start.at});
        simulator.turn(180);
      }
      break;
    case DesignedPath::kSquare:
      for (Point corner = start.at; !simulator.done();) {
        for (int side = 0; side < 4; ++side) {
          const Point to = side == 3 ? start.at : ahead(corner, yaw + 90 * side, start.room);
          simulator.follow({corner, to});
          simulator.look(yaw + 90 * (side + 1));
          corner = to;
        }
      }
      break;
  }
}

}  // namespace

std::string_view name_of(DesignedPath path) { return kDesignedNames[static_cast<size_t>(path)]; }

DesignedPath parse_designed_path(std::string_view name) {
  return value_of<DesignedPath>("path", name, kDesignedNames);
}

std::vector<camera::Pose> make_designed_path(const FreeSpace& free_space, const Scene& scene,
                                             DesignedPath path, uint64_t seed,
                                             const PathOptions& wanted) {
  PathOptions options = wanted;
  options.glances = false;
  Random random{seed, 0x646573};
  const Start start = find_start(free_space, scene, path, options, random);
  TrajectorySimulator simulator(options, start.at, start.yaw, Random(random.next()));
  // The distance that allows to move out and back with two turns in the time.
  const double longest =
      0.3 * static_cast<double>(options.frames) / options.fps * options.motion.speed;
  follow(path, start, longest, simulator);
  return std::move(simulator).poses();
}

}  // namespace loci::world
