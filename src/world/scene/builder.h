// SPDX-License-Identifier: Apache-2.0
// Puts solids together: shapes with materials, upright and turned, with their surfaces and light
// maps laid out. Lengths in metres, turns in degrees to the right seen from above.
#pragma once

#include <span>

#include "loci/world/scene/scene_geometry.h"

namespace loci::world {

// Materials of a box or a frustum by direction.
struct Faces {
  int32_t side = 0, top = 0, bottom = 0;

  Faces(int32_t all) : side(all), top(all), bottom(all) {}
  Faces(int32_t side, int32_t top) : side(side), top(top), bottom(side) {}
};

// Where something stands: middle of its base, and its turn.
struct Place {
  float x = 0, y = 0, z = 0;  // y above the ground
  float turn = 0;
};

class SceneBuilder {
 public:
  explicit SceneBuilder(SceneGeometry& geometry) : geometry_(geometry) {}

  int32_t material(const Material& material);
  const Material& material(int32_t index) const {
    return geometry_.materials[static_cast<size_t>(index)];
  }

  // A point given in the turned axes of `at`.
  static Place inside(const Place& at, float x, float y, float z, float turn = 0);

  void box(const Place& at, float width, float height, float depth, Faces faces);
  void frustum(const Place& at, float bottom_radius, float top_radius, float height, Faces faces);
  void cylinder(const Place& at, float radius, float height, Faces faces) {
    frustum(at, radius, radius, height, faces);
  }
  void cone(const Place& at, float radius, float height, int32_t material) {
    frustum(at, radius, 0, height, material);
  }
  // `at` is the middle of the ellipsoid's base: its lowest point.
  void ellipsoid(const Place& at, float radius_x, float radius_y, float radius_z, int32_t material);
  void sphere(const Place& at, float radius, int32_t material) {
    ellipsoid(at, radius, radius, radius, material);
  }
  // A roof whose ridge runs along the depth; `overhang` beyond width and depth.
  void gable(const Place& at, float width, float height, float depth, float overhang, int32_t roof,
             int32_t gable);
  // Four sloping sides up to a square of `top` of the base's size.
  void pyramid(const Place& at, float width, float height, float depth, float top,
               int32_t material);
  void lamp(const Float3& position, const Float3& colour, float reach, float falloff = 0.35f);

 private:
  // The caller adds one planar surface per plane afterwards.
  void hull(std::span<const Plane> planes, const Place& at);
  // Adds a planar surface whose corners are centre ± half_u axis_u ± half_v axis_v.
  void planar(const Float3& centre, const Float3& axis_u, const Float3& axis_v, float half_u,
              float half_v, int32_t material);
  void angular(const Place& at, float low, float high, float radius, int32_t material);
  void place_light_map(Surface& surface, float low_u, float high_u, float low_v, float high_v);

  SceneGeometry& geometry_;
};

// A point of the quarter around +z, turned about the origin by that many quarters.
inline Place quarter_turned(int quarters, float x, float z, float facing) {
  return SceneBuilder::inside({0, 0, 0, 90.0f * static_cast<float>(quarters)}, x, 0, z, facing);
}

}  // namespace loci::world
