// SPDX-License-Identifier: Apache-2.0
// Intersection of ray packets with convex solids and with the hierarchy over them. Only for
// tracer_*.cpp.
#pragma once

#include "loci/world/render/simd.h"
#include "loci/world/render/tracer.h"
#include "loci/world/scene/scene_geometry.h"

namespace loci::world {
namespace {

constexpr float kFar = 1e30f;
constexpr float kNear = 1e-3f;  // metres; nearer hits are on the surface that the ray starts from
constexpr int32_t kSky = -1;
constexpr int32_t kGround = -2;

struct Rays {
  Floats ox, oy, oz;
  Floats dx, dy, dz;  // unit length, no component exactly zero
  Floats ix, iy, iz;  // 1 / d
};

struct Hits {
  Floats t;      // kFar where nothing was hit
  Ints surface;  // kSky, kGround or an index
};

// Prevents divisions by zero, which would cause NaN in the slab test.
inline Floats nonzero(Floats d) { return abs(d) < 1e-9f ? splat(1e-9f) : d; }

inline Rays make_rays(Floats ox, Floats oy, Floats oz, Floats dx, Floats dy, Floats dz) {
  dx = nonzero(dx);
  dy = nonzero(dy);
  dz = nonzero(dz);
  return {ox, oy, oz, dx, dy, dz, 1.0f / dx, 1.0f / dy, 1.0f / dz};
}

// For each lane: the distance at which the ray enters the solid (kFar if it does not), the surface
// of the solid, and the distance at which the ray leaves it.
struct Entry {
  Floats t;
  Ints face;
  Floats leave;
};

inline Entry enter_box(const Solid& s, const Rays& r) {
  const Floats wx = r.ox - s.centre.x, wy = r.oy - s.centre.y, wz = r.oz - s.centre.z;
  const Floats ox = wx * s.cosine - wz * s.sine, oz = wx * s.sine + wz * s.cosine;
  const Floats dx = nonzero(r.dx * s.cosine - r.dz * s.sine);
  const Floats dz = nonzero(r.dx * s.sine + r.dz * s.cosine);
  const Floats ix = 1.0f / dx, iz = 1.0f / dz;
  const Floats ex = abs(ix) * s.size.x, ey = abs(r.iy) * s.size.y, ez = abs(iz) * s.size.z;
  const Floats mx = -ox * ix, my = -wy * r.iy, mz = -oz * iz;
  const Floats nx = mx - ex, ny = my - ey, nz = mz - ez;
  const Floats enter = max(max(nx, ny), nz);
  const Floats leave = min(min(mx + ex, my + ey), mz + ez);
  Ints face = (nx >= ny) & (nx >= nz) ? (dx < 0.0f ? splat(1) : splat(0))
              : ny >= nz              ? (r.dy < 0.0f ? splat(3) : splat(2))
                                      : (dz < 0.0f ? splat(5) : splat(4));
  return {enter <= leave ? enter : splat(kFar), face, leave};
}

inline Entry enter_frustum(const Solid& s, const Rays& r) {
  const Floats ox = r.ox - s.centre.x, oy = r.oy - s.centre.y, oz = r.oz - s.centre.z;
  const float height = s.size.y;
  const float slope = (s.size.z - s.size.x) / height;
  const Floats radius = s.size.x + slope * oy, change = slope * r.dy;
  const Floats a = r.dx * r.dx + r.dz * r.dz - change * change;
  const Floats b = ox * r.dx + oz * r.dz - radius * change;
  const Floats c = ox * ox + oz * oz - radius * radius;
  const Floats discriminant = b * b - a * c;
  const Floats root = sqrt(max(discriminant, splat(0.0f)));
  const Floats ia = 1.0f / (abs(a) < 1e-9f ? splat(1e-9f) : a);
  const Floats t1 = (-b - root) * ia, t2 = (-b + root) * ia;
  const auto on_side = [&](Floats t) {
    const Floats y = oy + t * r.dy;
    return (discriminant >= 0.0f) & (t > kNear) & (y >= 0.0f) & (y <= height);
  };
  const Floats far = splat(kFar);
  Floats t = min(on_side(t1) ? t1 : far, on_side(t2) ? t2 : far);
  Ints face = splat(0);
  const auto cap = [&](float y, float reach, Ints facing, int32_t id) {
    const Floats tc = (y - oy) * r.iy;
    const Floats x = ox + tc * r.dx, z = oz + tc * r.dz;
    const Ints hit = facing & (tc > kNear) & (tc < t) & (x * x + z * z <= reach * reach);
    t = hit ? tc : t;
    face = hit ? splat(id) : face;
  };
  if (s.size.z > 0) cap(height, s.size.z, r.dy < 0.0f, 1);
  cap(0, s.size.x, r.dy > 0.0f, 2);
  return {t, face, splat(kFar)};
}

inline Entry enter_ellipsoid(const Solid& s, const Rays& r) {
  const float sx = 1 / s.size.x, sy = 1 / s.size.y, sz = 1 / s.size.z;
  const Floats wx = r.ox - s.centre.x, wz = r.oz - s.centre.z;
  const Floats ox = (wx * s.cosine - wz * s.sine) * sx, oy = (r.oy - s.centre.y) * sy;
  const Floats oz = (wx * s.sine + wz * s.cosine) * sz;
  const Floats dx = (r.dx * s.cosine - r.dz * s.sine) * sx, dy = r.dy * sy;
  const Floats dz = (r.dx * s.sine + r.dz * s.cosine) * sz;
  const Floats a = dx * dx + dy * dy + dz * dz;
  const Floats b = ox * dx + oy * dy + oz * dz;
  const Floats c = ox * ox + oy * oy + oz * oz - 1.0f;
  const Floats discriminant = b * b - a * c;
  const Floats root = sqrt(max(discriminant, splat(0.0f))), ia = 1.0f / a;
  return {discriminant >= 0.0f ? (-b - root) * ia : splat(kFar), splat(0), (-b + root) * ia};
}

inline Entry enter_hull(const Solid& s, const Plane* planes, const Rays& r) {
  Floats enter = splat(-kFar), leave = splat(kFar);
  Ints face = splat(0);
  for (int i = 0; i < s.planes; ++i) {
    const Plane& plane = planes[s.first_plane + i];
    const Float3 n = plane.normal;
    const Floats along = nonzero(r.dx * n.x + r.dy * n.y + r.dz * n.z);
    const Floats t = (plane.offset - (r.ox * n.x + r.oy * n.y + r.oz * n.z)) / along;
    const Ints entering = along < 0.0f;
    const Ints later = entering & (t > enter);
    enter = later ? t : enter;
    face = later ? splat(i) : face;
    leave = entering ? leave : min(leave, t);
  }
  return {enter <= leave ? enter : splat(kFar), face, leave};
}

inline Entry enter_solid(const TracerScene& scene, const Solid& s, const Rays& r) {
  switch (s.shape) {
    case Shape::kBox:
      return enter_box(s, r);
    case Shape::kFrustum:
      return enter_frustum(s, r);
    case Shape::kEllipsoid:
      return enter_ellipsoid(s, r);
    case Shape::kHull:
      break;
  }
  return enter_hull(s, scene.planes, r);
}

// Lanes whose ray meets the node before `limit`. Nodes are a little larger than their content, so
// that rounding never culls a hit: the result of a lane must not depend on the other lanes of the
// packet.
inline Ints meets(const BvhNode& node, const Rays& r, Floats limit) {
  const Floats x0 = (node.low.x - r.ox) * r.ix, x1 = (node.high.x - r.ox) * r.ix;
  const Floats y0 = (node.low.y - r.oy) * r.iy, y1 = (node.high.y - r.oy) * r.iy;
  const Floats z0 = (node.low.z - r.oz) * r.iz, z1 = (node.high.z - r.oz) * r.iz;
  const Floats enter = max(max(min(x0, x1), min(y0, y1)), max(min(z0, z1), splat(0.0f)));
  const Floats leave = min(min(max(x0, x1), max(y0, y1)), min(max(z0, z1), limit));
  return enter <= leave;
}

constexpr int kStackSize = 64;

// Visits the leaves that a lane may meet, the nearer child first. `leaf(node)` may lower `limit`.
template <typename Leaf>
inline void traverse(const TracerScene& scene, const Rays& r, const Floats& limit, Leaf&& leaf) {
  const uint32_t negative[3] = {bits((Ints)r.dx) & 1, bits((Ints)r.dy) & 1, bits((Ints)r.dz) & 1};
  int32_t stack[kStackSize];
  int depth = 0;
  int32_t index = 0;
  for (;;) {
    const BvhNode& node = scene.nodes[index];
    if (any(meets(node, r, limit))) {
      if (node.count < 0) {  // inner, split along axis -count - 1
        const bool flip = negative[-node.count - 1] != 0;
        stack[depth++] = flip ? index + 1 : node.right;
        index = flip ? node.right : index + 1;
        continue;
      }
      leaf(node);
    }
    if (depth == 0) return;
    index = stack[--depth];
  }
}

// The nearest surface of every lane.
inline Hits trace(const TracerScene& scene, const Rays& r, Ints active) {
  const Floats ground = -r.oy * r.iy;
  const Ints down = ground > kNear;
  Hits hits{down ? ground : splat(kFar), down ? splat(kGround) : splat(kSky)};
  Floats limit = active ? hits.t : splat(-1.0f);
  traverse(scene, r, limit, [&](const BvhNode& node) {
    for (int32_t i = node.right; i < node.right + node.count; ++i) {
      const Solid& solid = scene.solids[i];
      const Entry entry = enter_solid(scene, solid, r);
      const Ints id = entry.face + solid.first_surface;
      // At equal distances the lower surface index is taken, independently of the order of visits.
      const Ints nearer =
          (entry.t > kNear) & ((entry.t < limit) | ((entry.t == limit) & (id < hits.surface)));
      limit = nearer ? entry.t : limit;
      hits.surface = nearer ? id : hits.surface;
    }
  });
  hits.t = active ? limit : hits.t;
  return hits;
}

// Lanes whose ray meets a solid before `reach` or starts inside a solid.
inline Ints blocked(const TracerScene& scene, const Rays& r, Floats reach) {
  Ints hit = splat(0);
  Floats limit = reach;
  traverse(scene, r, limit, [&](const BvhNode& node) {
    for (int32_t i = node.right; i < node.right + node.count; ++i) {
      const Entry entry = enter_solid(scene, scene.solids[i], r);
      const Ints met = (entry.leave > kNear) & (entry.t < limit);
      hit |= met;
      limit = met ? splat(-1.0f) : limit;
    }
  });
  return hit;
}

}  // namespace
}  // namespace loci::world
