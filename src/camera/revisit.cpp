// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/revisit.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "loci/base/error.h"

namespace loci::camera {

namespace {

// Finds the first later frame whose rotation is far from a given one. A binary tree over time:
// every node knows how far its frames turn at most from its first one, so that by the triangle
// inequality of rotation angles whole stretches are passed at once.
class TurnTree {
 public:
  explicit TurnTree(const std::vector<Pose>& poses) : poses_(poses) {
    while (leaves_ < poses.size()) leaves_ *= 2;
    radius_.assign(2 * leaves_, 0);
    for (size_t width = 2, nodes = leaves_ / 2; nodes > 0; width *= 2, nodes /= 2) {
      for (size_t i = 0; i < nodes && i * width < poses.size(); ++i) {
        for (size_t frame = i * width; frame < std::min((i + 1) * width, poses.size()); ++frame) {
          radius_[nodes + i] = std::max(
              radius_[nodes + i], angle_between(poses[i * width].rotation, poses[frame].rotation));
        }
      }
    }
  }

  // The first frame after `frame` turned by at least `angle` from it, or the number of frames.
  size_t first_away(size_t frame, double angle) const {
    return search(1, 0, leaves_, frame, angle);
  }

 private:
  size_t search(size_t node, size_t begin, size_t width, size_t frame, double angle) const {
    if (begin >= poses_.size() || begin + width <= frame + 1) return poses_.size();
    const double centre = angle_between(poses_[begin].rotation, poses_[frame].rotation);
    if (width == 1) return centre >= angle ? begin : poses_.size();
    // The margin keeps rounding from passing over a frame that is exactly on the limit.
    if (centre + radius_[node] < angle - 1e-9) return poses_.size();
    const size_t found = search(2 * node, begin, width / 2, frame, angle);
    return found < poses_.size() ? found
                                 : search(2 * node + 1, begin + width / 2, width / 2, frame, angle);
  }

  const std::vector<Pose>& poses_;
  size_t leaves_ = 1;
  std::vector<double> radius_;  // node 1 is the root; its children are 2 and 3, and so on
};

using Cell = std::array<int64_t, 3>;

struct CellHash {
  size_t operator()(const Cell& cell) const {
    uint64_t hash = 0;
    for (const int64_t c : cell) {
      hash = (hash ^ static_cast<uint64_t>(c)) * 0x9E3779B97F4A7C15ull;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

Cell cell_of(const Vec3& v, double size) {
  // Paths from files stay within 1e9 m; the clamp is for others.
  const auto part = [size](double x) {
    return static_cast<int64_t>(std::clamp(std::floor(x / size), -9e15, 9e15));
  };
  return {part(v.x), part(v.y), part(v.z)};
}

// Frames by place and viewing direction, in cells no smaller than the rule's limits, so that all
// candidates for a pose lie in its cell and the neighbours.
class PlaceIndex {
 public:
  explicit PlaceIndex(const RevisitRule& rule)
      : place_(std::max(rule.distance, 1e-6)),
        // Chord of the angle; rotations further apart than that look in directions further apart,
        // or turn about the direction itself.
        direction_(std::max(2 * std::sin(std::min(rule.turn, std::numbers::pi) / 2), 1e-2)) {}

  void insert(const Pose& pose, int64_t frame) {
    std::vector<int64_t>& frames =
        cells_[cell_of(pose.position, place_)][cell_of(pose.forward(), direction_)];
    frames.insert(std::upper_bound(frames.begin(), frames.end(), frame), frame);
  }

  // The smallest frame for which `accept` holds, among all that may be near; -1 if none.
  template <typename Accept>
  int64_t first(const Pose& pose, const Accept& accept) const {
    int64_t best = -1;
    for_neighbours(cells_, cell_of(pose.position, place_), [&](const Directions& directions) {
      for_neighbours(directions, cell_of(pose.forward(), direction_),
                     [&](const std::vector<int64_t>& frames) {
                       for (const int64_t frame : frames) {
                         if (best >= 0 && frame >= best) break;
                         if (accept(frame)) best = frame;
                       }
                     });
    });
    return best;
  }

 private:
  using Directions = std::unordered_map<Cell, std::vector<int64_t>, CellHash>;

  template <typename Map, typename Visit>
  static void for_neighbours(const Map& map, const Cell& centre, const Visit& visit) {
    for (int64_t x = -1; x <= 1; ++x) {
      for (int64_t y = -1; y <= 1; ++y) {
        for (int64_t z = -1; z <= 1; ++z) {
          const auto found = map.find({centre[0] + x, centre[1] + y, centre[2] + z});
          if (found != map.end()) visit(found->second);
        }
      }
    }
  }

  double place_;
  double direction_;
  std::unordered_map<Cell, Directions, CellHash> cells_;
};

}  // namespace

std::vector<Revisit> find_revisits(const std::vector<Pose>& poses, double fps,
                                   const RevisitRule& rule) {
  LOCI_CHECK(fps > 0, "{} frames a second", fps);
  const size_t count = poses.size();
  const auto gap = static_cast<size_t>(std::clamp(std::ceil(rule.gap * fps - 1e-9), 1.0, 1e15));
  std::vector<Revisit> revisits;
  if (count <= gap) return revisits;

  // A frame can be revisited from the first one on that is late enough and has looked away before.
  const TurnTree turns(poses);
  std::vector<std::vector<int64_t>> ready(count);
  for (size_t frame = 0; frame + gap < count; ++frame) {
    const size_t from = std::max(frame + gap, turns.first_away(frame, rule.away) + 1);
    if (from < count) ready[from].push_back(static_cast<int64_t>(frame));
  }

  PlaceIndex index(rule);
  for (size_t frame = gap; frame < count; ++frame) {
    const Pose& pose = poses[frame];
    for (const int64_t earlier : ready[frame]) index.insert(poses[earlier], earlier);
    const int64_t earlier = index.first(pose, [&](int64_t candidate) {
      return norm(poses[candidate].position - pose.position) <= rule.distance &&
             angle_between(poses[candidate].rotation, pose.rotation) <= rule.turn;
    });
    if (earlier >= 0) {
      const auto at = static_cast<int64_t>(frame);
      revisits.push_back({at, earlier, static_cast<double>(at - earlier) / fps});
    }
  }
  return revisits;
}

}  // namespace loci::camera
