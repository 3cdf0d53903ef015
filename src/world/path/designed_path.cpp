// SPDX-License-Identifier: Apache-2.0
// The designed paths of path.h: exact, without a person's whims.
#include "loci/base/error.h"
#include "loci/world/scene/name_list.h"
#include "loci/world/path/path.h"
#include "loci/world/path/walker.h"

namespace loci::world {

namespace {

constexpr std::string_view kDesignedNames[kDesignedPaths] = {
    "static", "straight", "spin", "look-around", "look-around-pitch", "out-and-back", "square"};

constexpr double kStartClearance = 0.9;  // metres

Point ahead(const Point& from, double yaw, double reach) {
  return {from.x + reach * exact_sin(yaw * (kPi / 180)),
          from.z + reach * exact_cos(yaw * (kPi / 180))};
}

// Free metres straight ahead, at most `limit`.
double room_ahead(const Walkable& walkable, const Point& from, double yaw, double limit) {
  double reach = 0;
  while (reach < limit && walkable.is_free(ahead(from, yaw, reach + 0.1))) reach += 0.1;
  return std::min(reach, limit);
}

// The side of a square to the right that fits, at most `limit`; 0 when that one does not.
double square_room(const Walkable& walkable, const Point& from, double yaw, double limit) {
  const double side = room_ahead(walkable, from, yaw, limit);
  Point corner = ahead(from, yaw, side);
  for (int i = 1; i < 4; ++i) {
    if (room_ahead(walkable, corner, yaw + 90 * i, side) < side) return 0;
    corner = ahead(corner, yaw + 90 * i, side);
  }
  return side;
}

struct Start {
  Point at;
  double yaw = 0;
  double room = -1;  // metres ahead, or of the square's side
};

// The viewpoint with the most room for the path, among some.
Start find_start(const Walkable& walkable, const World& world, DesignedPath path,
                 const PathOptions& options, Random& random) {
  const double duration = static_cast<double>(options.frames) / options.fps;
  Start best;
  for (int attempt = 0; attempt < 40; ++attempt) {
    const Place& place = world.viewpoints[random.below(world.viewpoints.size())];
    const auto free = walkable.nearest_free({place.x, place.z}, kStartClearance);
    if (!free) continue;
    const double room = path == DesignedPath::kSquare
                            ? square_room(walkable, *free, place.turn,
                                          random.uniform(0.4, 1) * std::min(4.0, duration / 6))
                            : room_ahead(walkable, *free, place.turn,
                                         std::min(12.0, 0.9 * duration * options.speed));
    if (room > best.room) best = {*free, place.turn, room};
  }
  if (best.room < 0) fail("world {} has no place to walk", world.seed);
  // Even a start without room ahead has this much around it.
  best.room = std::max(best.room - 0.05, kStartClearance - Walkable::kMargin);
  return best;
}

void follow(DesignedPath path, const Start& start, double longest, Walker& walker) {
  const double yaw = start.yaw;
  switch (path) {
    case DesignedPath::kStatic:
      break;
    case DesignedPath::kStraight:
      walker.walk({start.at, ahead(start.at, yaw, start.room)});
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
        const Point end = ahead(start.at, yaw, std::min(start.room, longest));
        walker.walk({start.at, end});
        walker.turn(180);
        walker.walk({end, start.at});
        walker.turn(180);
      }
      break;
    case DesignedPath::kSquare:
      for (Point corner = start.at; !walker.done();) {
        for (int side = 0; side < 4; ++side) {
          const Point to = side == 3 ? start.at : ahead(corner, yaw + 90 * side, start.room);
          walker.walk({corner, to});
          walker.look(yaw + 90 * (side + 1));
          corner = to;
        }
      }
      break;
  }
}

}  // namespace

std::string_view name_of(DesignedPath path) { return kDesignedNames[static_cast<size_t>(path)]; }

DesignedPath parse_designed_path(std::string_view name) {
  return value_of<DesignedPath>("the path", name, kDesignedNames);
}

std::vector<camera::Pose> make_designed_path(const Walkable& walkable, const World& world,
                                             DesignedPath path, uint64_t seed,
                                             const PathOptions& wanted) {
  PathOptions options = wanted;
  options.glances = false;
  Random random{seed, 0x646573};
  const Start start = find_start(walkable, world, path, options, random);
  Walker walker(options, start.at, start.yaw, Random(random.next()));
  // Out and back, with two turns, within the time.
  follow(path, start, 0.3 * static_cast<double>(options.frames) / options.fps * options.speed,
         walker);
  return std::move(walker).poses();
}

}  // namespace loci::world
