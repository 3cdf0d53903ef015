// SPDX-License-Identifier: Apache-2.0
#include "loci/world/path/free_space.h"

#include <algorithm>
#include <queue>

#include "loci/world/render/bvh.h"

namespace loci::world {

namespace {

constexpr double kAnkle = 0.12, kHead = 1.95;  // metres; solids between these heights are obstacles
constexpr double kReach = 5;
constexpr double kCoarse = 5;  // side of a cell of the lists of near solids, metres

// Whether the surface of a solid is water. Water is an obstacle although it is flat.
bool is_water(const SceneGeometry& geometry, const Solid& solid) {
  const int faces = solid.shape == Shape::kBox ? 6 : solid.shape == Shape::kFrustum ? 3 : 0;
  for (int i = 0; i < faces; ++i) {
    const Surface& surface =
        geometry.surfaces[static_cast<size_t>(solid.first_surface) + static_cast<size_t>(i)];
    if (geometry.materials[static_cast<size_t>(surface.material)].mirror > 0) return true;
  }
  return false;
}

}  // namespace

Footprint::Footprint(const SceneGeometry& geometry, const Solid& solid)
    : centre_{solid.centre.x, solid.centre.z}, cosine_(solid.cosine), sine_(solid.sine) {
  const Bounds bounds = bounds_of(geometry, solid);
  const bool flat_water = bounds.high.y < kAnkle && is_water(geometry, solid);
  in_the_way_ = flat_water || (bounds.high.y >= kAnkle && bounds.low.y <= kHead);
  const double ankle = flat_water ? 0.0 : kAnkle;
  switch (solid.shape) {
    case Shape::kBox:
      half_x_ = solid.size.x;
      half_z_ = solid.size.z;
      break;
    case Shape::kFrustum: {
      // The widest circle between ankle and head height.
      const double slope = (solid.size.z - solid.size.x) / solid.size.y;
      const double low = std::max(0.0, ankle - solid.centre.y);
      const double high = std::min<double>(solid.size.y, kHead - solid.centre.y);
      round_ = true;
      half_x_ = std::max(solid.size.x + slope * low, solid.size.x + slope * high);
      break;
    }
    case Shape::kEllipsoid: {
      const double y = std::clamp<double>(solid.centre.y, ankle, kHead);
      const double h = (y - solid.centre.y) / solid.size.y;
      round_ = true;
      half_x_ = std::sqrt(std::max(0.0, 1 - h * h)) * std::max(solid.size.x, solid.size.z);
      break;
    }
    case Shape::kHull:
      centre_ = {0.5 * (bounds.low.x + bounds.high.x), 0.5 * (bounds.low.z + bounds.high.z)};
      half_x_ = bounds.high.x - centre_.x;
      half_z_ = bounds.high.z - centre_.z;
      break;
  }
}

double Footprint::distance(const Point& p) const {
  const double wx = p.x - centre_.x, wz = p.z - centre_.z;
  if (round_) return std::max(0.0, std::sqrt(wx * wx + wz * wz) - half_x_);
  const double x = std::abs(wx * cosine_ - wz * sine_), z = std::abs(wx * sine_ + wz * cosine_);
  const double dx = std::max(x - half_x_, 0.0), dz = std::max(z - half_z_, 0.0);
  return std::sqrt(dx * dx + dz * dz);
}

FreeSpace::FreeSpace(const Scene& scene)
    : radius_(scene.trajectory_radius),
      side_(2 * static_cast<int>(std::ceil(scene.trajectory_radius / kCell)) + 1),
      clearance_(static_cast<size_t>(side_) * side_),
      coarse_side_(2 * static_cast<int>(std::ceil((scene.trajectory_radius + 1) / kCoarse)) + 1),
      near_(static_cast<size_t>(coarse_side_) * coarse_side_) {
  for (const Solid& solid : scene.geometry.solids) {
    const Footprint footprint(scene.geometry, solid);
    if (footprint.in_the_way()) obstacles_.push_back(footprint);
  }
  const double reach = kReach + 0.71 * kCoarse;
  for (int cell = 0; cell < coarse_side_ * coarse_side_; ++cell) {
    const int column = cell % coarse_side_ - coarse_side_ / 2;
    const int row = cell / coarse_side_ - coarse_side_ / 2;
    const Point middle{column * kCoarse, row * kCoarse};
    for (size_t i = 0; i < obstacles_.size(); ++i) {
      if (obstacles_[i].distance(middle) < reach)
        near_[static_cast<size_t>(cell)].push_back(static_cast<int>(i));
    }
  }
  for (int i = 0; i < side_ * side_; ++i) {
    const Point p = centre(i);
    clearance_[static_cast<size_t>(i)] =
        length(p) <= radius_ ? static_cast<float>(clearance(p)) : 0.0f;
  }
  label_regions();
}

int FreeSpace::index(const Point& p) const {
  const int column = static_cast<int>(std::floor(p.x / kCell + 0.5)) + side_ / 2;
  const int row = static_cast<int>(std::floor(p.z / kCell + 0.5)) + side_ / 2;
  return column < 0 || row < 0 || column >= side_ || row >= side_ ? -1 : row * side_ + column;
}

Point FreeSpace::centre(int index) const {
  const int column = index % side_ - side_ / 2, row = index / side_ - side_ / 2;
  return {column * kCell, row * kCell};
}

double FreeSpace::clearance(const Point& p) const {
  const int column = std::clamp(
      static_cast<int>(std::floor(p.x / kCoarse + 0.5)) + coarse_side_ / 2, 0, coarse_side_ - 1);
  const int row = std::clamp(static_cast<int>(std::floor(p.z / kCoarse + 0.5)) + coarse_side_ / 2,
                             0, coarse_side_ - 1);
  double nearest = kReach;
  for (const int i : near_[static_cast<size_t>(row) * static_cast<size_t>(coarse_side_) +
                           static_cast<size_t>(column)]) {
    nearest = std::min(nearest, obstacles_[static_cast<size_t>(i)].distance(p));
    if (nearest == 0) break;
  }
  return nearest;
}

bool FreeSpace::is_free(const Point& p) const {
  return length(p) <= radius_ && clearance(p) >= kMargin;
}

double FreeSpace::grid_clearance(const Point& p) const {
  const int cell = index(p);
  return cell < 0 ? 0.0 : clearance_[static_cast<size_t>(cell)];
}

void FreeSpace::label_regions() {
  reachable_.assign(clearance_.size(), 0);
  std::vector<uint8_t> seen(clearance_.size());
  std::vector<int> best, region;
  for (size_t start = 0; start < clearance_.size(); ++start) {
    if (seen[start] || clearance_[start] < kMargin + 0.1) continue;
    region = {static_cast<int>(start)};
    seen[start] = 1;
    for (size_t head = 0; head < region.size(); ++head) {
      for (const int step : {-1, 1, -side_, side_}) {
        const int next = region[head] + step;
        if (next < 0 || next >= side_ * side_) continue;
        if (seen[static_cast<size_t>(next)] ||
            clearance_[static_cast<size_t>(next)] < kMargin + 0.1)
          continue;
        seen[static_cast<size_t>(next)] = 1;
        region.push_back(next);
      }
    }
    if (region.size() > best.size()) best.swap(region);
  }
  for (const int cell : best) reachable_[static_cast<size_t>(cell)] = 1;
}

std::optional<Point> FreeSpace::nearest_free(const Point& p, double clear) const {
  double best = 1e18;
  std::optional<Point> result;
  for (int i = 0; i < side_ * side_; ++i) {
    if (!reachable_[static_cast<size_t>(i)] || clearance_[static_cast<size_t>(i)] < clear) continue;
    const Point q = centre(i);
    const double distance = length(q - p);
    if (distance < best) {
      best = distance;
      result = q;
    }
  }
  return result;
}

double FreeSpace::open_distance(const Point& from, double yaw, double limit) const {
  const Point step{exact_sin(yaw * (kPi / 180)), exact_cos(yaw * (kPi / 180))};
  double reach = 0;
  // The clearance is a lower bound of the distance to the next obstacle.
  while (reach < limit) {
    const Point p = from + step * reach;
    if (length(p) > radius_) return limit;
    const double free = grid_clearance(p) - kCell;
    if (free <= 0) return reach;
    reach += std::max(free, 0.15);
  }
  return limit;
}

bool FreeSpace::straight_is_free(const Point& a, const Point& b, double margin) const {
  const int steps = std::max(1, static_cast<int>(length(b - a) / 0.12));
  for (int i = 0; i <= steps; ++i) {
    const Point p = a + (b - a) * (static_cast<double>(i) / steps);
    if (grid_clearance(p) < margin) return false;
  }
  return true;
}

std::vector<Point> FreeSpace::route(const Point& from, const Point& to) const {
  const int start = index(from), goal = index(to);
  if (start < 0 || goal < 0 || !reachable_[static_cast<size_t>(start)] ||
      !reachable_[static_cast<size_t>(goal)])
    return {};
  // A* with higher costs in narrow places, so that routes follow the middle of a passage.
  std::vector<float> cost(clearance_.size(), 1e30f);
  std::vector<int> parent(clearance_.size(), -1);
  using Entry = std::pair<float, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  cost[static_cast<size_t>(start)] = 0;
  open.push({0, start});
  while (!open.empty()) {
    const int cell = open.top().second;
    open.pop();
    if (cell == goal) break;
    for (int dz = -1; dz <= 1; ++dz) {
      for (int dx = -1; dx <= 1; ++dx) {
        const int next = cell + dz * side_ + dx;
        if (next < 0 || next >= side_ * side_ || next == cell ||
            !reachable_[static_cast<size_t>(next)])
          continue;
        const float step = dx != 0 && dz != 0 ? 1.41421356f : 1.0f;
        const float tight = std::max(0.0f, 1.6f - clearance_[static_cast<size_t>(next)]);
        const float total = cost[static_cast<size_t>(cell)] + step * (1 + 2 * tight);
        if (total >= cost[static_cast<size_t>(next)]) continue;
        cost[static_cast<size_t>(next)] = total;
        parent[static_cast<size_t>(next)] = cell;
        open.push({total + static_cast<float>(length(centre(next) - centre(goal)) / kCell), next});
      }
    }
  }
  if (start != goal && parent[static_cast<size_t>(goal)] < 0) return {};
  std::vector<Point> cells;
  for (int cell = goal; cell >= 0 && cell != start; cell = parent[static_cast<size_t>(cell)])
    cells.push_back(centre(cell));
  cells.push_back(from);
  std::reverse(cells.begin(), cells.end());
  cells.back() = to;

  // Replace cells by straight lines as long as these keep a similar clearance.
  std::vector<Point> corners = {cells.front()};
  for (size_t i = 0; i + 1 < cells.size();) {
    size_t j = std::min(cells.size() - 1, i + 24);
    while (j > i + 1 && !straight_is_free(cells[i], cells[j], kMargin + 0.35)) --j;
    corners.push_back(cells[j]);
    i = j;
  }
  // Cut corners to make them round (Chaikin).
  for (int round = 0; round < 3; ++round) {
    std::vector<Point> smooth = {corners.front()};
    for (size_t i = 0; i + 1 < corners.size(); ++i) {
      const Point a = corners[i] * 0.75 + corners[i + 1] * 0.25,
                  b = corners[i] * 0.25 + corners[i + 1] * 0.75;
      if (i > 0) smooth.push_back(a);
      if (i + 2 < corners.size()) smooth.push_back(b);
    }
    smooth.push_back(corners.back());
    bool clear = true;
    for (size_t i = 0; i + 1 < smooth.size(); ++i)
      clear = clear && straight_is_free(smooth[i], smooth[i + 1], kMargin + 0.15);
    if (!clear) break;
    corners = std::move(smooth);
  }
  return corners;
}

}  // namespace loci::world
