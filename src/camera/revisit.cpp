// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/revisit.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "loci/base/error.h"

namespace loci::camera {

namespace {

// Finds the first later frame whose rotation differs enough from that of a given frame. A binary
// tree over time: every node stores the largest rotation between its first frame and its other
// frames, so that the triangle inequality of rotation angles excludes whole nodes.
class TurnTree {
 public:
  explicit TurnTree(std::span<const Pose> poses) : poses_(poses) {
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

  // The first frame after `frame` that is rotated by at least `angle` from it; the number of frames
  // if there is none.
  size_t first_away(size_t frame, double angle) const {
    return search(1, 0, leaves_, frame, angle);
  }

 private:
  size_t search(size_t node, size_t begin, size_t width, size_t frame, double angle) const {
    if (begin >= poses_.size() || begin + width <= frame + 1) return poses_.size();
    const double centre = angle_between(poses_[begin].rotation, poses_[frame].rotation);
    if (width == 1) return centre >= angle ? begin : poses_.size();
    // The margin ensures that rounding does not exclude a frame exactly at the limit.
    if (centre + radius_[node] < angle - 1e-9) return poses_.size();
    const size_t found = search(2 * node, begin, width / 2, frame, angle);
    return found < poses_.size() ? found
                                 : search(2 * node + 1, begin + width / 2, width / 2, frame, angle);
  }

  std::span<const Pose> poses_;
  size_t leaves_ = 1;
  std::vector<double> radius_;  // node 1 is the root; its children are 2 and 3, and so on
};

// Finds the earliest released frame that is near a pose. A k-d tree over all frames in the space of
// positions and rotation matrices, where |A - B| = 2 sqrt(2) sin(angle / 2). Each node stores its
// earliest released frame, so that nodes that are entirely near, entirely far or too late need no
// search inside.
class PoseTree {
 public:
  PoseTree(std::span<const Pose> poses, const RevisitRule& rule)
      : poses_(poses),
        rule_(rule),
        limits_{rule.distance,
                2 * std::numbers::sqrt2 * std::sin(std::min(rule.turn, std::numbers::pi) / 2)} {
    order_.resize(poses.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    leaf_of_.resize(poses.size());
    released_.resize(poses.size());
    build(0, poses.size(), kNone);
  }

  void release(size_t frame) {
    for (size_t node = leaf_of_[frame]; node != kNone && nodes_[node].earliest > frame;
         node = nodes_[node].parent) {
      nodes_[node].earliest = frame;
    }
    released_[frame] = true;
  }

  // The earliest released frame near `pose` and before frame `limit`; kNone if there is none.
  size_t earliest_near(const Pose& pose, size_t limit) const {
    size_t best = limit;
    search(0, coordinates(pose), pose, best);
    return best < limit ? best : kNone;
  }

  static constexpr size_t kNone = std::numeric_limits<size_t>::max();

 private:
  static constexpr size_t kDimensions = 12;  // 3 of the position, 9 of the rotation
  static constexpr size_t kLeaf = 8;
  using Coordinates = std::array<double, kDimensions>;

  struct Node {
    size_t begin, end;  // in order_
    size_t parent;
    size_t left = kNone, right = kNone;
    size_t earliest = kNone;
    Coordinates low, high;
  };

  static Coordinates coordinates(const Pose& pose) {
    Coordinates c{pose.position.x, pose.position.y, pose.position.z};
    std::copy(pose.rotation.m.begin(), pose.rotation.m.end(), c.begin() + 3);
    return c;
  }

  double limit_of(size_t dimension) const { return limits_[dimension < 3 ? 0 : 1]; }

  size_t build(size_t begin, size_t end, size_t parent) {
    const size_t index = nodes_.size();
    Node node{begin, end, parent};
    node.low = node.high = coordinates(poses_[order_[begin]]);
    for (size_t i = begin; i < end; ++i) {
      const Coordinates c = coordinates(poses_[order_[i]]);
      for (size_t d = 0; d < kDimensions; ++d) {
        node.low[d] = std::min(node.low[d], c[d]);
        node.high[d] = std::max(node.high[d], c[d]);
      }
    }
    nodes_.push_back(node);
    if (end - begin <= kLeaf) {
      for (size_t i = begin; i < end; ++i) leaf_of_[order_[i]] = index;
      return index;
    }
    // Split in half along the longest side, measured in units of the limits.
    size_t widest = 0;
    double width = -1;
    for (size_t d = 0; d < kDimensions; ++d) {
      const double w = (node.high[d] - node.low[d]) / std::max(limit_of(d), 1e-6);
      if (w > width) {
        width = w;
        widest = d;
      }
    }
    const size_t middle = begin + (end - begin) / 2;
    const auto at = [this](size_t i) { return order_.begin() + static_cast<std::ptrdiff_t>(i); };
    std::nth_element(at(begin), at(middle), at(end), [&](size_t a, size_t b) {
      return coordinates(poses_[a])[widest] < coordinates(poses_[b])[widest];
    });
    const size_t left = build(begin, middle, index);
    const size_t right = build(middle, end, index);
    nodes_[index].left = left;
    nodes_[index].right = right;
    return index;
  }

  void search(size_t index, const Coordinates& c, const Pose& pose, size_t& best) const {
    const Node& node = nodes_[index];
    if (node.earliest >= best) return;
    // Squared distances of the pose from the nearest and the farthest corner of the node.
    double nearest[2] = {0, 0}, farthest[2] = {0, 0};
    for (size_t d = 0; d < kDimensions; ++d) {
      const size_t part = d < 3 ? 0 : 1;
      const double below = node.low[d] - c[d], above = c[d] - node.high[d];
      const double out = std::max({below, above, 0.0});
      const double across = std::max(node.high[d] - c[d], c[d] - node.low[d]);
      nearest[part] += out * out;
      farthest[part] += across * across;
    }
    bool wholly_near = true;
    for (const size_t part : {0, 1}) {
      const double limit = limits_[part] * limits_[part];
      constexpr double kMargin = 1e-9;  // against rounding: frames decide, not boxes
      if (nearest[part] > limit * (1 + kMargin) + kMargin * kMargin) return;
      wholly_near = wholly_near && farthest[part] < limit * (1 - kMargin);
    }
    if (wholly_near) {
      best = node.earliest;
      return;
    }
    if (node.left == kNone) {
      for (size_t i = node.begin; i < node.end; ++i) {
        const size_t frame = order_[i];
        if (frame < best && released_[frame] && is_near(poses_[frame], pose)) best = frame;
      }
      return;
    }
    const bool left_first = nodes_[node.left].earliest < nodes_[node.right].earliest;
    search(left_first ? node.left : node.right, c, pose, best);
    search(left_first ? node.right : node.left, c, pose, best);
  }

  bool is_near(const Pose& a, const Pose& b) const {
    return norm(a.position - b.position) <= rule_.distance &&
           angle_between(a.rotation, b.rotation) <= rule_.turn;
  }

  std::span<const Pose> poses_;
  const RevisitRule& rule_;
  std::array<double, 2> limits_;  // of position and rotation, in coordinates
  std::vector<size_t> order_;
  std::vector<size_t> leaf_of_;
  std::vector<Node> nodes_;  // the first is the root
  std::vector<bool> released_;
};

}  // namespace

std::vector<Revisit> find_revisits(std::span<const Pose> poses, double fps,
                                   const RevisitRule& rule) {
  LOCI_CHECK(fps > 0, "{} frames per second; expected more than 0", fps);
  const size_t count = poses.size();
  const auto gap = static_cast<size_t>(std::clamp(std::ceil(rule.gap * fps - 1e-9), 1.0, 1e15));
  std::vector<Revisit> revisits;
  if (count <= gap) return revisits;

  // `frame` can be revisited from frame `from` on: late enough, and after the camera has looked
  // away.
  const TurnTree turns(poses);
  std::vector<std::vector<size_t>> ready(count);
  for (size_t frame = 0; frame + gap < count; ++frame) {
    const size_t from = std::max(frame + gap, turns.first_away(frame, rule.away) + 1);
    if (from < count) ready[from].push_back(frame);
  }

  PoseTree tree(poses, rule);
  for (size_t frame = gap; frame < count; ++frame) {
    for (const size_t earlier : ready[frame]) tree.release(earlier);
    const size_t earlier = tree.earliest_near(poses[frame], frame);
    if (earlier == PoseTree::kNone) continue;
    revisits.push_back({static_cast<int64_t>(frame), static_cast<int64_t>(earlier),
                        static_cast<double>(frame - earlier) / fps});
  }
  return revisits;
}

int64_t closest_of_first_visit(std::span<const Pose> poses, const Revisit& revisit,
                               const RevisitRule& rule) {
  const Pose& here = poses[static_cast<size_t>(revisit.frame)];
  int64_t closest = revisit.earlier;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t frame = revisit.earlier; frame < revisit.frame; ++frame) {
    const Pose& there = poses[static_cast<size_t>(frame)];
    const double distance = norm(there.position - here.position) / rule.distance;
    const double turn = angle_between(there.rotation, here.rotation) / rule.turn;
    // The margin keeps the first frame, which may lie exactly at a limit.
    if (std::max(distance, turn) > 1 + 1e-9) break;
    if (distance * distance + turn * turn < least) {
      least = distance * distance + turn * turn;
      closest = frame;
    }
  }
  return closest;
}

}  // namespace loci::camera
