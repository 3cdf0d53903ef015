// SPDX-License-Identifier: Apache-2.0
// The data that the tracer renders: convex solids on a ground plane, their surfaces and materials,
// and precomputed light. Plain data. Scene axes: x right, y up, z forward; metres.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "loci/world/scene/math.h"

namespace loci::world {

enum class Shape : int32_t {
  kBox,      // size = half extents, rotated about the vertical
  kFrustum,  // upright, round: size = {bottom radius, height, top radius}, centre = middle of base
  kEllipsoid,  // size = radii
  kHull,       // intersection of half-spaces
};

// The half-space dot(normal, p) <= offset in scene axes.
struct Plane {
  Float3 normal;
  float offset = 0;
};

// The surfaces of a solid are consecutive. Box: -x +x -y +y -z +z in its own axes. Frustum: side,
// top, bottom. Ellipsoid: one. Hull: one per plane.
struct Solid {
  Shape shape = Shape::kBox;
  int32_t first_surface = 0;
  Float3 centre;
  Float3 size;
  float cosine = 1,
        sine = 0;  // rotation about the vertical, own axes to scene axes: x' = c x + s z
  int32_t first_plane = 0, planes = 0;
};

// The mapping of a point to texture coordinates, in metres.
enum class Mapping : int32_t {
  kPlanar,   // u = dot(axis_u, p) + u0, v = dot(axis_v, p) + v0
  kAngular,  // u = radius * angle about the vertical through (u0, v0), v = height
};

struct Surface {
  Mapping mapping = Mapping::kPlanar;
  int32_t material = 0;
  Float3 axis_u, axis_v, normal;
  float u0 = 0, v0 = 0;
  float radius = 1;                // kAngular
  float offset = 0;                // kPlanar: dot(normal, p) of the plane
  float shift_u = 0, shift_v = 0;  // offset of the pattern, metres
  // Light map: texel = (u - low_u) * scale_u, clamped to [0, columns - 1], and v likewise. Texels
  // are packed by pack_light().
  int32_t light_offset = 0, columns = 1, rows = 1;
  float low_u = 0, low_v = 0, scale_u = 0, scale_v = 0;
};

// Colour of a surface: a pattern's channels choose among three colours (linear light).
struct Material {
  int32_t pattern = 0;  // a Pattern of patterns.h
  float tile = 1;       // metres per repetition
  Float3 base, second, third;
  Float3 glow;       // light emitted where the pattern's fourth channel is set
  float mirror = 0;  // > 0: a water surface with this reflectance at normal incidence
};

// An omnidirectional lamp. Used when the light is precomputed, not when a frame is rendered.
struct Lamp {
  Float3 position;
  Float3 colour;
  float reach = 8;        // metres
  float falloff = 0.35f;  // light is colour / (0.6 + falloff * distance^2), less near `reach`
};

// Sky, haze and sunlight.
struct Atmosphere {
  Float3 sun_direction{0, 1, 0};   // towards the sun or moon
  Float3 sun_colour;               // light on a surface facing it
  Float3 sky_light, ground_light;  // light from above and from below
  Float3 haze, sun_haze;   // colour of distant objects, and the colour added towards the sun
  float haze_density = 0;  // 1/m
};

// Square map of a region of the ground around the origin.
struct GroundMap {
  int32_t size = 0;              // texels per side
  float half_extent = 1;         // metres; texel 0 is at -half_extent
  float scale = 1;               // value of the largest texel
  std::vector<uint32_t> texels;  // lit colour (three square-rooted bytes), weight of `path`
};

// Map of the sky: the upper half of an octahedron unfolded to a square.
struct SkyMap {
  int32_t size = 0;
  float scale = 1;
  std::vector<uint32_t> texels;  // packed by pack_light()
};

// Nodes are in depth-first order: the left child of an inner node is the next node.
struct BvhNode {
  Float3 low;
  int32_t right = 0;  // inner: index of the right child; leaf: index of the first solid
  Float3 high;
  int32_t count = 0;  // leaf: number of solids; inner: -1, -2 or -3 for a split along x, y or z
};

struct SceneGeometry {
  std::vector<Solid> solids;  // in the order of the leaves once the hierarchy is built
  std::vector<Plane> planes;
  std::vector<Surface> surfaces;
  std::vector<Material> materials;
  std::vector<Lamp> lamps;
  std::vector<BvhNode> nodes;
  std::vector<uint32_t> light;  // light maps of all surfaces
  float light_scale = 1;
  Atmosphere atmosphere;
  GroundMap ground;
  SkyMap sky;
  Material meadow, path;  // of the ground; only pattern, tile, and second.x and third.x as
                          // brightness steps are used
  Float3 far_ground;      // lit colour beyond the map
};

// Packed light: three 10-bit square roots of value / scale. Interpolation of roots is perceptually
// even, and one gather fetches a texel.
inline uint32_t pack_light(const Float3& value, float scale) {
  const auto encode = [scale](float x) {
    const float root = std::sqrt(clamp01(x / scale));
    return static_cast<uint32_t>(root * 1023 + 0.5f);
  };
  return encode(value.x) | encode(value.y) << 10 | encode(value.z) << 20;
}

}  // namespace loci::world
