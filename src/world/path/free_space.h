// SPDX-License-Identifier: Apache-2.0
// Where a person can walk: distance to the nearest obstacle, and routes that keep clear of them.
// Coordinates are the scene's x and z in metres.
#pragma once

#include <optional>
#include <vector>

#include "loci/world/scene/scene.h"

namespace loci::world {

struct Point {
  double x = 0, z = 0;

  Point operator+(const Point& o) const { return {x + o.x, z + o.z}; }
  Point operator-(const Point& o) const { return {x - o.x, z - o.z}; }
  Point operator*(double s) const { return {x * s, z * s}; }
};
inline double length(const Point& p) { return std::sqrt(p.x * p.x + p.z * p.z); }
// Of a way through these points.
inline double way_length(const std::vector<Point>& way) {
  double sum = 0;
  for (size_t i = 0; i + 1 < way.size(); ++i) sum += length(way[i + 1] - way[i]);
  return sum;
}

// The outline on the ground of what a solid occupies between ankle and head height.
class Footprint {
 public:
  Footprint(const SceneGeometry& geometry, const Solid& solid);

  bool in_the_way() const { return in_the_way_; }
  // 0 inside.
  double distance(const Point& p) const;

 private:
  bool in_the_way_ = false;
  bool round_ = false;
  Point centre_;
  double half_x_ = 0, half_z_ = 0;  // of the rectangle; half_x_ is the radius of a circle
  double cosine_ = 1, sine_ = 0;
};

class FreeSpace {
 public:
  // Keeps this far from everything.
  static constexpr double kMargin = 0.5;

  explicit FreeSpace(const Scene& scene);

  // Distance to the nearest obstacle, from the solids themselves; at most 5.
  double clearance(const Point& p) const;
  bool is_free(const Point& p) const;

  // The place nearest to `p` that has `clear` metres around it and belongs to the largest connected
  // region.
  std::optional<Point> nearest_free(const Point& p, double clear = kMargin) const;

  // Metres of free view at walking height in the direction `yaw` (degrees from +z to the right), at
  // most `limit`.
  double open_distance(const Point& from, double yaw, double limit) const;

  // A smooth way from one free place to another that never comes nearer than kMargin, both ends
  // included; empty when there is none.
  std::vector<Point> route(const Point& from, const Point& to) const;

 private:
  static constexpr double kCell = 0.3;

  int index(const Point& p) const;  // -1 outside
  Point centre(int index) const;
  bool straight_is_free(const Point& a, const Point& b, double margin) const;
  double grid_clearance(const Point& p) const;
  void label_regions();

  std::vector<Footprint> obstacles_;
  double radius_;
  int side_;
  std::vector<float> clearance_;    // per cell centre
  std::vector<uint8_t> reachable_;  // cells of the largest connected region
  int coarse_side_;
  std::vector<std::vector<int>> near_;  // obstacles within 5 m of coarse cells
};

}  // namespace loci::world
