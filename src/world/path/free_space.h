// SPDX-License-Identifier: Apache-2.0
// The free ground of a scene: distances to obstacles and collision-free routes. Coordinates are the
// scene's x and z in metres.
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
// Length of the polyline through the points.
inline double route_length(const std::vector<Point>& route) {
  double sum = 0;
  for (size_t i = 0; i + 1 < route.size(); ++i) sum += length(route[i + 1] - route[i]);
  return sum;
}

// The ground area that a solid occupies between ankle and head height.
class Footprint {
 public:
  Footprint(const SceneGeometry& geometry, const Solid& solid);

  // Whether the solid is an obstacle.
  bool in_the_way() const { return in_the_way_; }
  // Metres from the area; 0 inside.
  double distance(const Point& p) const;

 private:
  bool in_the_way_ = false;
  bool round_ = false;
  Point centre_;
  double half_x_ = 0,
         half_z_ = 0;  // of the rectangle; half_x_ is the radius if the area is a circle
  double cosine_ = 1, sine_ = 0;
};

class FreeSpace {
 public:
  // Least distance of free places from obstacles, metres.
  static constexpr double kMargin = 0.5;

  explicit FreeSpace(const Scene& scene);

  // Exact distance to the nearest obstacle, at most 5 m.
  double clearance(const Point& p) const;
  bool is_free(const Point& p) const;

  // The point nearest to `p` with `clear` metres of clearance in the largest connected region.
  std::optional<Point> nearest_free(const Point& p, double clear = kMargin) const;

  // Free distance in the direction `yaw` (degrees from +z to the right), at most `limit` metres.
  double open_distance(const Point& from, double yaw, double limit) const;

  // A smooth route between two free points that keeps a clearance of kMargin. It includes both
  // points. Empty if there is none.
  std::vector<Point> route(const Point& from, const Point& to) const;

 private:
  static constexpr double kCell = 0.3;

  int index(const Point& p) const;  // of the cell; -1 outside the grid
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
  std::vector<std::vector<int>> near_;  // per coarse cell: the obstacles within 5 m
};

}  // namespace loci::world
