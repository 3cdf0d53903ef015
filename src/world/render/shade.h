// SPDX-License-Identifier: Apache-2.0
// Colours of the points that a packet of rays hits: patterns, stored light, water, haze, sky. Only
// for tracer_*.cpp.
#pragma once

#include "loci/world/render/intersect.h"
#include "loci/world/scene/patterns.h"

namespace loci::world {
namespace {

struct Colours {
  Floats r, g, b;
};

inline Colours blend(const Colours& a, const Colours& b, Floats t) {
  return {a.r + (b.r - a.r) * t, a.g + (b.g - a.g) * t, a.b + (b.b - a.b) * t};
}
inline Colours select(Ints mask, const Colours& a, const Colours& b) {
  return {mask ? a.r : b.r, mask ? a.g : b.g, mask ? a.b : b.b};
}
inline Colours splat(const Float3& c) { return {splat(c.x), splat(c.y), splat(c.z)}; }

// Four 8-bit channels between texels a (weight 256 - w) and b (weight w), two channels at a time.
inline Ints mix_bytes(Ints a, Ints b, Halves w) {
  constexpr int32_t kEven = 0x00ff00ff;
  const Halves v = 256 - w;
  const Halves even = (Halves)(a & kEven) * v + (Halves)(b & kEven) * w;
  const Halves odd = (Halves)((a >> 8) & kEven) * v + (Halves)((b >> 8) & kEven) * w;
  return (((Ints)even >> 8) & kEven) | ((Ints)odd & ~kEven);
}

// A byte of weight in both halves of a lane.
inline Halves byte_weight(Floats fraction) {
  const Ints w = to_int(fraction * 256.0f);
  return (Halves)(w | w << 16);
}

inline Floats channel(Ints texel, int shift) { return to_float((texel >> shift) & 255); }

// The four bytes of the material's pattern at (u, v) metres, filtered to `footprint` metres per
// pixel.
inline Ints sample_pattern(const TracerScene& scene, const Material& material, Floats u, Floats v,
                           Floats footprint) {
  alignas(64) static constexpr int32_t kOffsets[16] = {
      level_offset(0), level_offset(1), level_offset(2), level_offset(3),
      level_offset(4), level_offset(5), level_offset(6), level_offset(7)};
  const float inverse = 1 / material.tile;
  // The exponent of the texels per pixel, rounded to the nearest power of two.
  const Floats texels = footprint * (inverse * kPatternSize * 1.41421356f);
  const Ints level = clamp_int(((Ints)texels >> 23) - 127, 0, kPatternLevels - 1);
  const Ints size = splat(int32_t{kPatternSize}) >> level;
  const Floats scale = to_float(size) * inverse;
  const Floats x = u * scale - 0.5f, y = v * scale - 0.5f;
  const Ints ix = floor_int(x), iy = floor_int(y);
  const Halves wx = byte_weight(x - to_float(ix)), wy = byte_weight(y - to_float(iy));
  const Ints last = size - 1;
  const Ints x0 = ix & last, x1 = (ix + 1) & last;
  const Ints base = gather(kOffsets, level) + material.pattern * kPatternStride;
  const Ints row0 = base + (iy & last) * size, row1 = base + ((iy + 1) & last) * size;
  const Ints top =
      mix_bytes(gather(scene.patterns, row0 + x0), gather(scene.patterns, row0 + x1), wx);
  const Ints bottom =
      mix_bytes(gather(scene.patterns, row1 + x0), gather(scene.patterns, row1 + x1), wx);
  return mix_bytes(top, bottom, wy);
}

// Bilinear value of packed light at texel coordinates x, y of a map with `columns` texels per row.
// The four texels around (x, y) must exist.
inline Colours sample_light(const uint32_t* texels, Floats x, Floats y, int32_t columns,
                            float scale) {
  const Ints ix = to_int(x), iy = to_int(y);
  const Floats fx = x - to_float(ix), fy = y - to_float(iy);
  const Ints at = iy * columns + ix;
  const Ints p00 = gather(texels, at), p01 = gather(texels, at + 1);
  const Ints p10 = gather(texels, at + columns), p11 = gather(texels, at + columns + 1);
  const Floats w11 = fx * fy, w01 = fx - w11, w10 = fy - w11, w00 = 1.0f - fx - w10;
  const float unit = scale / (1023.0f * 1023.0f);
  const auto value = [&](int shift) {
    const Floats root =
        to_float((p00 >> shift) & 1023) * w00 + to_float((p01 >> shift) & 1023) * w01 +
        to_float((p10 >> shift) & 1023) * w10 + to_float((p11 >> shift) & 1023) * w11;
    return root * root * unit;
  };
  return {value(0), value(10), value(20)};
}

inline Colours sample_sky(const TracerScene& scene, const Rays& r) {
  const SkyMap& sky = scene.geometry->sky;
  const Floats up = max(r.dy, splat(0.0f));
  const Floats norm = 1.0f / (abs(r.dx) + up + abs(r.dz));
  const Floats px = r.dx * norm, pz = r.dz * norm;
  const float half = 0.5f * static_cast<float>(sky.size - 1);
  const float high = static_cast<float>(sky.size) - 1.001f;
  const Floats x = clamp((px + pz + 1.0f) * half, 0, high);
  const Floats y = clamp((px - pz + 1.0f) * half, 0, high);
  return sample_light(scene.sky, x, y, sky.size, sky.scale);
}

inline Colours shade_ground(const TracerScene& scene, const Floats& px, const Floats& pz,
                            const Floats& footprint) {
  const SceneGeometry& geometry = *scene.geometry;
  const GroundMap& map = geometry.ground;
  const float texels_a_metre = 0.5f * static_cast<float>(map.size - 1) / map.half_extent;
  const float high = static_cast<float>(map.size) - 1.001f;
  const Floats mx = (px + map.half_extent) * texels_a_metre;
  const Floats my = (pz + map.half_extent) * texels_a_metre;
  const Floats x = clamp(mx, 0, high), y = clamp(my, 0, high);
  const Ints ix = to_int(x), iy = to_int(y);
  const Halves wx = byte_weight(x - to_float(ix)), wy = byte_weight(y - to_float(iy));
  const Ints at = iy * map.size + ix;
  const uint32_t* texels = scene.ground;
  const Ints lit = mix_bytes(
      mix_bytes(gather(texels, at), gather(texels, at + 1), wx),
      mix_bytes(gather(texels, at + map.size), gather(texels, at + map.size + 1), wx), wy);
  const float unit = map.scale / (255.0f * 255.0f);
  const auto value = [&](int shift) {
    const Floats root = channel(lit, shift);
    return root * root * unit;
  };
  Colours colour{value(0), value(8), value(16)};
  const Ints outside = (mx != x) | (my != y);
  const Ints weight = (lit >> 24) & 255;
  const Floats w = outside ? splat(0.0f) : to_float(weight) * (1 / 255.0f);
  colour = select(outside, splat(geometry.far_ground), colour);
  // On the ground, patterns change only the brightness: `second` and `third` are brightness steps.
  const auto detail = [&](const Material& material) {
    const Ints texel = sample_pattern(scene, material, px, pz, footprint);
    return (1.0f + (channel(texel, 0) * material.second.x + channel(texel, 8) * material.third.x) *
                       (1 / 255.0f)) *
           channel(texel, 16) * (1 / 128.0f);
  };
  Floats factor = splat(1.0f);
  if (any(w < 1.0f)) factor = detail(geometry.meadow);
  if (any(w > 0.0f)) factor += (detail(geometry.path) - factor) * w;
  return {colour.r * factor, colour.g * factor, colour.b * factor};
}

struct Shaded {
  Colours colour;
  Floats mirror;  // reflectance of water, 0 elsewhere
  Floats wobble;  // slope of the water surface
};

// Colour of surface `id` at the hit points, without haze.
inline Shaded shade_surface(const TracerScene& scene, int32_t id, const Rays& r, Floats t,
                            float pixel_angle) {
  const Surface& surface = scene.surfaces[id];
  const Material& material = scene.materials[surface.material];
  const Floats px = r.ox + t * r.dx, py = r.oy + t * r.dy, pz = r.oz + t * r.dz;
  Floats u, v, footprint = t * pixel_angle;
  Floats facing = splat(1.0f);
  if (surface.mapping == Mapping::kPlanar) {
    const Float3 &a = surface.axis_u, &b = surface.axis_v, &n = surface.normal;
    u = px * a.x + py * a.y + pz * a.z + surface.u0;
    v = px * b.x + py * b.y + pz * b.z + surface.v0;
    facing = abs(r.dx * n.x + r.dy * n.y + r.dz * n.z);
    footprint /= sqrt(max(facing, splat(0.05f)));
  } else {
    u = atan2(pz - surface.v0, px - surface.u0) * surface.radius;
    v = py;
  }
  const Ints texel =
      sample_pattern(scene, material, u + surface.shift_u, v + surface.shift_v, footprint);
  const Floats second = channel(texel, 0) * (1 / 255.0f), third = channel(texel, 8) * (1 / 255.0f);
  const Floats shade = channel(texel, 16) * (1 / 128.0f);
  const Floats glow = to_float((Ints)((texel >> 24) & 255)) * (1 / 255.0f);
  Colours albedo = blend(splat(material.base), splat(material.second), second);
  albedo = blend(albedo, splat(material.third), third);

  const Floats lx =
      clamp((u - surface.low_u) * surface.scale_u, 0, static_cast<float>(surface.columns) - 1.001f);
  const Floats ly =
      clamp((v - surface.low_v) * surface.scale_v, 0, static_cast<float>(surface.rows) - 1.001f);
  const Colours light = sample_light(scene.light + surface.light_offset, lx, ly, surface.columns,
                                     scene.geometry->light_scale);
  Shaded result;
  result.colour = {albedo.r * shade * light.r + glow * material.glow.x,
                   albedo.g * shade * light.g + glow * material.glow.y,
                   albedo.b * shade * light.b + glow * material.glow.z};
  result.mirror = splat(0.0f);
  result.wobble = second;
  if (material.mirror > 0) {
    const Floats grazing = 1.0f - facing;
    const Floats power = grazing * grazing * grazing;
    result.mirror = material.mirror + (1.0f - material.mirror) * power;
  }
  return result;
}

inline Colours haze_colour(const Atmosphere& air, const Rays& r) {
  const Float3 s = air.sun_direction;
  Floats towards = max(r.dx * s.x + r.dy * s.y + r.dz * s.z, splat(0.0f));
  towards *= towards;
  towards *= towards;
  return {air.haze.x + air.sun_haze.x * towards, air.haze.y + air.sun_haze.y * towards,
          air.haze.z + air.sun_haze.z * towards};
}

inline Colours add_haze(const Atmosphere& air, const Rays& r, Floats t, const Colours& colour) {
  // (1 + x/8)^-8 approximates exp(-x).
  Floats clear = 1.0f / (1.0f + t * (air.haze_density * 0.125f));
  clear *= clear;
  clear *= clear;
  clear *= clear;
  return blend(haze_colour(air, r), colour, clear);
}

inline Colours radiance(const TracerScene& scene, const Rays& r, const Hits& hits, Ints active,
                        float pixel_angle, bool reflect) {
  const Atmosphere& air = scene.geometry->atmosphere;
  Colours colour = splat(Float3{});
  Floats mirror = splat(0.0f), wobble = splat(0.0f);
  uint32_t left = bits(active);
  while (left != 0) {
    const int32_t id = hits.surface[__builtin_ctz(left)];
    const Ints same = hits.surface == id;
    left &= ~bits(same);
    if (id == kSky) {
      colour = select(same, sample_sky(scene, r), colour);
    } else if (id == kGround) {
      const Floats facing = max(abs(r.dy), splat(0.05f));
      const Floats footprint = hits.t * pixel_angle / sqrt(facing);
      colour = select(
          same, shade_ground(scene, r.ox + hits.t * r.dx, r.oz + hits.t * r.dz, footprint), colour);
    } else {
      const Shaded shaded = shade_surface(scene, id, r, hits.t, pixel_angle);
      colour = select(same, shaded.colour, colour);
      mirror = same ? shaded.mirror : mirror;
      wobble = same ? shaded.wobble : wobble;
    }
  }
  const Ints wet = active & (mirror > 0.0f);
  if (reflect && any(wet)) {
    const Floats tilt = (wobble - 0.4f) * 0.06f;
    const Rays bounced = make_rays(r.ox + hits.t * r.dx, r.oy + hits.t * r.dy, r.oz + hits.t * r.dz,
                                   r.dx + tilt, abs(r.dy) + 0.01f, r.dz + tilt);
    const Hits seen = trace(scene, bounced, wet);
    const Colours image = radiance(scene, bounced, seen, wet, pixel_angle * 2, false);
    colour = blend(colour, image, wet ? mirror : splat(0.0f));
  }
  const Ints solid = active & (hits.surface != kSky);
  if (any(solid)) colour = select(solid, add_haze(air, r, hits.t, colour), colour);
  return colour;
}

}  // namespace
}  // namespace loci::world
