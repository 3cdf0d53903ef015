// SPDX-License-Identifier: Apache-2.0
#include "loci/world/render/bvh.h"

#include <algorithm>
#include <numeric>

namespace loci::world {

namespace {

float axis_of(const Float3& p, int axis) { return axis == 0 ? p.x : axis == 1 ? p.y : p.z; }

// Corners of a hull: the intersections of three planes that are inside all half-spaces.
Bounds hull_bounds(const Plane* planes, int count) {
  Bounds bounds;
  for (int i = 0; i < count; ++i) {
    for (int j = i + 1; j < count; ++j) {
      for (int k = j + 1; k < count; ++k) {
        const Float3 &a = planes[i].normal, &b = planes[j].normal, &c = planes[k].normal;
        const float determinant = dot(a, cross(b, c));
        if (std::abs(determinant) < 1e-5f) continue;
        const Float3 p = (cross(b, c) * planes[i].offset + cross(c, a) * planes[j].offset +
                          cross(a, b) * planes[k].offset) *
                         (1 / determinant);
        bool inside = true;
        for (int m = 0; m < count; ++m) {
          inside = inside && dot(planes[m].normal, p) <= planes[m].offset + 1e-3f;
        }
        if (inside) bounds.add(p);
      }
    }
  }
  return bounds;
}

struct Item {
  Bounds bounds;
  Float3 centre;
  int32_t solid;
};

class Builder {
 public:
  explicit Builder(SceneGeometry& geometry) : geometry_(geometry) {
    for (size_t i = 0; i < geometry.solids.size(); ++i) {
      Item item{bounds_of(geometry, geometry.solids[i]), {}, static_cast<int32_t>(i)};
      item.centre = (item.bounds.low + item.bounds.high) * 0.5f;
      items_.push_back(item);
    }
  }

  void run() {
    geometry_.nodes.clear();
    if (items_.empty()) {
      geometry_.nodes.push_back({{1, 1, 1}, 0, {-1, -1, -1}, 0});  // no ray meets it
      return;
    }
    build(0, items_.size());
    std::vector<Solid> ordered;
    for (const Item& item : items_)
      ordered.push_back(geometry_.solids[static_cast<size_t>(item.solid)]);
    geometry_.solids = std::move(ordered);
  }

 private:
  void build(size_t first, size_t last) {
    const size_t index = geometry_.nodes.size();
    geometry_.nodes.emplace_back();
    Bounds bounds;
    for (size_t i = first; i < last; ++i) bounds.add(items_[i].bounds);
    // Margin for rounding in the slab test: a few float steps at a distance of 200 m.
    const Float3 margin{2e-3f, 2e-3f, 2e-3f};
    geometry_.nodes[index].low = bounds.low - margin;
    geometry_.nodes[index].high = bounds.high + margin;

    int axis = 0;
    const size_t middle = last - first > 1 ? split(first, last, bounds, axis) : first;
    if (middle == first) {
      geometry_.nodes[index].right = static_cast<int32_t>(first);
      geometry_.nodes[index].count = static_cast<int32_t>(last - first);
      return;
    }
    geometry_.nodes[index].count = -1 - axis;
    build(first, middle);
    geometry_.nodes[index].right = static_cast<int32_t>(geometry_.nodes.size());
    build(middle, last);
  }

  // Sorts [first, last) along the best axis and returns the index of the split; `first` for a leaf.
  size_t split(size_t first, size_t last, const Bounds& bounds, int& best_axis) {
    constexpr float kNodeCost = 0.7f;  // cost of a box test relative to the test of a solid
    const size_t count = last - first;
    float best = static_cast<float>(count) - kNodeCost;
    size_t best_cut = first;
    std::vector<float> left_area(count);
    for (int axis = 0; axis < 3; ++axis) {
      sort(first, last, axis);
      Bounds left;
      for (size_t i = 0; i < count; ++i) {
        left.add(items_[first + i].bounds);
        left_area[i] = left.half_area();
      }
      Bounds right;
      for (size_t i = count - 1; i > 0; --i) {
        right.add(items_[first + i].bounds);
        const float cost = (left_area[i - 1] * static_cast<float>(i) +
                            right.half_area() * static_cast<float>(count - i)) /
                           bounds.half_area();
        if (cost < best) {
          best = cost;
          best_cut = first + i;
          best_axis = axis;
        }
      }
    }
    if (best_cut == first && count > 4) best_cut = first + count / 2;
    if (best_cut != first) sort(first, last, best_axis);
    return best_cut;
  }

  void sort(size_t first, size_t last, int axis) {
    std::sort(items_.begin() + static_cast<std::ptrdiff_t>(first),
              items_.begin() + static_cast<std::ptrdiff_t>(last),
              [axis](const Item& a, const Item& b) {
                const float ca = axis_of(a.centre, axis), cb = axis_of(b.centre, axis);
                return ca != cb ? ca < cb : a.solid < b.solid;
              });
  }

  SceneGeometry& geometry_;
  std::vector<Item> items_;
};

}  // namespace

void Bounds::add(const Float3& p) {
  low = {std::min(low.x, p.x), std::min(low.y, p.y), std::min(low.z, p.z)};
  high = {std::max(high.x, p.x), std::max(high.y, p.y), std::max(high.z, p.z)};
}

void Bounds::add(const Bounds& other) {
  add(other.low);
  add(other.high);
}

float Bounds::half_area() const {
  const Float3 d = high - low;
  return d.x * d.y + d.y * d.z + d.z * d.x;
}

Bounds bounds_of(const SceneGeometry& geometry, const Solid& solid) {
  if (solid.shape == Shape::kHull) {
    return hull_bounds(geometry.planes.data() + solid.first_plane, solid.planes);
  }
  const float c = std::abs(solid.cosine), s = std::abs(solid.sine);
  Float3 low = solid.centre, high = solid.centre;
  if (solid.shape == Shape::kFrustum) {
    const float radius = std::max(solid.size.x, solid.size.z);
    low = low - Float3{radius, 0, radius};
    high = high + Float3{radius, solid.size.y, radius};
  } else if (solid.shape == Shape::kBox) {
    const Float3 reach{c * solid.size.x + s * solid.size.z, solid.size.y,
                       s * solid.size.x + c * solid.size.z};
    low = low - reach;
    high = high + reach;
  } else {
    const float rx = solid.size.x, rz = solid.size.z;
    const Float3 reach{std::sqrt(c * c * rx * rx + s * s * rz * rz), solid.size.y,
                       std::sqrt(s * s * rx * rx + c * c * rz * rz)};
    low = low - reach;
    high = high + reach;
  }
  Bounds bounds;
  bounds.add(low);
  bounds.add(high);
  return bounds;
}

void build_hierarchy(SceneGeometry& geometry) { Builder(geometry).run(); }

}  // namespace loci::world
