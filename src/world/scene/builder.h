// SPDX-License-Identifier: Apache-2.0
// Adds solids to a scene: upright shapes with materials, surfaces and light maps. Lengths are in
// metres, rotations about the vertical in degrees, clockwise seen from above.
#pragma once

#include <span>

#include "loci/world/scene/scene_geometry.h"

namespace loci::world {

// Materials of the faces of a box or a frustum.
struct Faces {
  int32_t side = 0, top = 0, bottom = 0;

  Faces(int32_t all) : side(all), top(all), bottom(all) {}
  Faces(int32_t side, int32_t top) : side(side), top(top), bottom(side) {}
};

// Position and rotation of an object: the centre of its base, and its rotation about the vertical.
struct Place {
  float x = 0, y = 0, z = 0;  // y above the ground
  float rotation = 0;
};

class SceneBuilder {
 public:
  explicit SceneBuilder(SceneGeometry& geometry) : geometry_(geometry) {}

  int32_t material(const Material& material);
  const Material& material(int32_t index) const {
    return geometry_.materials[static_cast<size_t>(index)];
  }

  // The place (x, y, z, rotation) given in the axes of `at`.
  static Place inside(const Place& at, float x, float y, float z, float rotation = 0);

  void box(const Place& at, float width, float height, float depth, Faces faces);
  void frustum(const Place& at, float bottom_radius, float top_radius, float height, Faces faces);
  void cylinder(const Place& at, float radius, float height, Faces faces) {
    frustum(at, radius, radius, height, faces);
  }
  void cone(const Place& at, float radius, float height, int32_t material) {
    frustum(at, radius, 0, height, material);
  }
  // `at` is the lowest point of the ellipsoid.
  void ellipsoid(const Place& at, float radius_x, float radius_y, float radius_z, int32_t material);
  void sphere(const Place& at, float radius, int32_t material) {
    ellipsoid(at, radius, radius, radius, material);
  }
  // A roof with its ridge along the depth. `overhang` extends it beyond width and depth.
  void gable(const Place& at, float width, float height, float depth, float overhang, int32_t roof,
             int32_t gable);
  // Four sloping sides; the flat top has the share `top` of the base's size.
  void pyramid(const Place& at, float width, float height, float depth, float top,
               int32_t material);
  // An upright panel with the outline of an arch: `height` includes the half circle at the top.
  void arch(const Place& at, float width, float height, float depth, int32_t material);
  // An upright round panel. `at` is the lowest point of its middle plane.
  void disc(const Place& at, float radius, float depth, int32_t material);
  void lamp(const Float3& position, const Float3& colour, float reach, float falloff = 0.35f);

 private:
  // A convex outline in the x-y plane of `at`, counterclockwise seen from -z, with the given depth
  // along z. The middle plane contains `at`.
  struct Corner {
    float x, y;
  };
  void prism(const Place& at, std::span<const Corner> outline, float depth, int32_t material);
  // The caller must add one planar surface per plane afterwards.
  void hull(std::span<const Plane> planes, const Place& at);
  // Adds a planar surface whose corners are centre ± half_u axis_u ± half_v axis_v.
  void planar(const Float3& centre, const Float3& axis_u, const Float3& axis_v, float half_u,
              float half_v, int32_t material);
  void angular(const Place& at, float low, float high, float radius, int32_t material);
  void place_light_map(Surface& surface, float low_u, float high_u, float low_v, float high_v);

  SceneGeometry& geometry_;
};

// A place in the quarter around +z, rotated about the origin by `quarters` times 90 degrees.
inline Place quarter_turned(int quarters, float x, float z, float facing) {
  return SceneBuilder::inside({0, 0, 0, 90.0f * static_cast<float>(quarters)}, x, 0, z, facing);
}

}  // namespace loci::world
