// SPDX-License-Identifier: Apache-2.0
#include "loci/app/bench/triangles.h"

#include <cmath>

namespace loci::app {

namespace {

using world::Float3;
using world::kPi;
using world::Plane;
using world::Solid;

constexpr float kGround = 10000;  // metres from the origin to the ground's edge

class Mesh {
 public:
  Mesh(Triangles& out, int segments) : out_(out), segments_(segments) {}

  // A convex polygon.
  void fan(const std::vector<Float3>& corners) {
    const auto first = static_cast<uint32_t>(out_.points.size());
    out_.points.insert(out_.points.end(), corners.begin(), corners.end());
    for (uint32_t i = 2; i < corners.size(); ++i)
      out_.faces.push_back({first, first + i - 1, first + i});
  }

  void box(const Solid& s) {
    const auto corner = [&](int i) {
      return placed(s, {i & 1 ? s.size.x : -s.size.x, i & 2 ? s.size.y : -s.size.y,
                        i & 4 ? s.size.z : -s.size.z});
    };
    static constexpr int kFaces[6][4] = {{0, 2, 6, 4}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                         {2, 3, 7, 6}, {0, 1, 3, 2}, {4, 5, 7, 6}};
    for (const auto& face : kFaces)
      fan({corner(face[0]), corner(face[1]), corner(face[2]), corner(face[3])});
  }

  void frustum(const Solid& s) {
    const std::vector<Float3> bottom = ring(s.centre, s.size.x),
                              top = ring(s.centre + Float3{0, s.size.y, 0}, s.size.z);
    for (size_t i = 0; i < bottom.size(); ++i) {
      const size_t next = (i + 1) % bottom.size();
      if (s.size.z > 0) {
        fan({bottom[i], bottom[next], top[next], top[i]});
      } else {
        fan({bottom[i], bottom[next], top[i]});
      }
    }
    fan(bottom);
    if (s.size.z > 0) fan(top);
  }

  void ellipsoid(const Solid& s) {
    const int rings = segments_ / 2;
    const auto point = [&](int i, int k) {
      const double latitude = kPi * i / rings, longitude = 2 * kPi * k / segments_;
      return placed(s, {static_cast<float>(std::sin(latitude) * std::cos(longitude)) * s.size.x,
                        static_cast<float>(std::cos(latitude)) * s.size.y,
                        static_cast<float>(std::sin(latitude) * std::sin(longitude)) * s.size.z});
    };
    for (int i = 0; i < rings; ++i) {
      for (int k = 0; k < segments_; ++k) {
        if (i == 0) {
          fan({point(0, 0), point(1, k), point(1, k + 1)});
        } else if (i + 1 == rings) {
          fan({point(rings, 0), point(i, k), point(i, k + 1)});
        } else {
          fan({point(i, k), point(i, k + 1), point(i + 1, k + 1), point(i + 1, k)});
        }
      }
    }
  }

  // Every face is a large square in its plane, cut by all the other half-spaces.
  void hull(const Solid& s, const std::vector<Plane>& planes) {
    for (int i = 0; i < s.planes; ++i) {
      const Plane& plane = planes[static_cast<size_t>(s.first_plane) + static_cast<size_t>(i)];
      const Float3 aside = std::abs(plane.normal.y) < 0.9f ? Float3{0, 1, 0} : Float3{1, 0, 0};
      const Float3 u = normalise(cross(aside, plane.normal)), v = cross(plane.normal, u);
      const Float3 middle = s.centre + plane.normal * (plane.offset - dot(plane.normal, s.centre));
      constexpr float kLarge = 500;
      std::vector<Float3> corners = {middle + (u + v) * kLarge, middle + (u - v) * kLarge,
                                     middle - (u + v) * kLarge, middle - (u - v) * kLarge};
      for (int k = 0; k < s.planes; ++k) {
        if (k != i)
          corners =
              cut(corners, planes[static_cast<size_t>(s.first_plane) + static_cast<size_t>(k)]);
      }
      if (corners.size() >= 3) fan(corners);
    }
  }

 private:
  static Float3 placed(const Solid& s, const Float3& own) {
    return s.centre +
           Float3{own.x * s.cosine + own.z * s.sine, own.y, own.z * s.cosine - own.x * s.sine};
  }

  std::vector<Float3> ring(const Float3& centre, float radius) const {
    std::vector<Float3> points;
    for (int i = 0; i < segments_; ++i) {
      const double angle = 2 * kPi * i / segments_;
      points.push_back(centre + Float3{radius * static_cast<float>(std::cos(angle)), 0,
                                       radius * static_cast<float>(std::sin(angle))});
    }
    return points;
  }

  static std::vector<Float3> cut(const std::vector<Float3>& corners, const Plane& plane) {
    std::vector<Float3> kept;
    for (size_t i = 0; i < corners.size(); ++i) {
      const Float3 &a = corners[i], &b = corners[(i + 1) % corners.size()];
      const float da = dot(plane.normal, a) - plane.offset,
                  db = dot(plane.normal, b) - plane.offset;
      if (da <= 0) kept.push_back(a);
      if ((da < 0 && db > 0) || (da > 0 && db < 0)) kept.push_back(a + (b - a) * (da / (da - db)));
    }
    return kept;
  }

  Triangles& out_;
  int segments_;
};

}  // namespace

Triangles triangulate(const world::SceneGeometry& scene, int segments) {
  Triangles triangles;
  Mesh mesh(triangles, segments);
  for (const Solid& solid : scene.solids) {
    switch (solid.shape) {
      case world::Shape::kBox:
        mesh.box(solid);
        break;
      case world::Shape::kFrustum:
        mesh.frustum(solid);
        break;
      case world::Shape::kEllipsoid:
        mesh.ellipsoid(solid);
        break;
      case world::Shape::kHull:
        mesh.hull(solid, scene.planes);
        break;
    }
  }
  mesh.fan({{-kGround, 0, -kGround},
            {kGround, 0, -kGround},
            {kGround, 0, kGround},
            {-kGround, 0, kGround}});
  return triangles;
}

}  // namespace loci::app
