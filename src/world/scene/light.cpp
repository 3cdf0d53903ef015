// SPDX-License-Identifier: Apache-2.0
#include "loci/world/scene/light.h"

#include <array>
#include <vector>

#include "loci/world/render/tracer.h"

namespace loci::world {

namespace {

constexpr int kSkyRays = 8;  // per texel; neighbours alternate between four sets of directions
constexpr int kSunRays = 4;
constexpr float kSkyReach = 7;  // metres within which solids occlude the sky
constexpr float kSunReach = 120;
constexpr float kSunRadius = 0.035f;  // radians; larger than the real sun for soft shadows
constexpr float kLift = 0.02f;        // distance of ray origins from the surface, metres
constexpr int kGroundStep = 3;        // colour texels of the ground per light texel

// A texel whose light is computed.
struct Probe {
  Float3 position, normal;
};

// Directions of a cosine-weighted hemisphere and of the sun's disc, for each of four phases.
struct Directions {
  std::array<std::array<Float3, kSkyRays>, 4> sky;  // about +y
  std::array<std::array<std::pair<float, float>, kSunRays>, 4> disc;

  Directions() {
    for (int phase = 0; phase < 4; ++phase) {
      for (int i = 0; i < kSkyRays; ++i) {
        const int n = i * 4 + phase;
        const double radius = std::sqrt((n + 0.5) / (4 * kSkyRays));
        const double angle = n * kPi * (3 - std::sqrt(5.0));
        sky[phase][i] = {static_cast<float>(radius * exact_cos(angle)),
                         static_cast<float>(std::sqrt(1 - radius * radius)),
                         static_cast<float>(radius * exact_sin(angle))};
      }
      for (int i = 0; i < kSunRays; ++i) {
        const int n = i * 4 + phase;
        const double radius = kSunRadius * std::sqrt((n + 0.5) / (4 * kSunRays));
        const double angle = n * kPi * (3 - std::sqrt(5.0));
        disc[phase][i] = {static_cast<float>(radius * exact_cos(angle)),
                          static_cast<float>(radius * exact_sin(angle))};
      }
    }
  }
};

struct Frame {
  Float3 x, y, z;
};
Frame frame_about(const Float3& y) {
  const Float3 aside = std::abs(y.y) < 0.9f ? Float3{0, 1, 0} : Float3{1, 0, 0};
  const Float3 x = normalise(cross(aside, y));
  return {x, y, cross(x, y)};
}

class LightComputer {
 public:
  explicit LightComputer(const SceneGeometry& geometry)
      : geometry_(geometry),
        view_(geometry),
        tracer_(best_tracer()),
        sun_(frame_about(geometry.atmosphere.sun_direction)) {}

  // Light at a grid of probes. Smoothing over neighbours also blends the four phases.
  std::vector<Float3> grid(const std::vector<Probe>& probes, int columns, int rows, bool wraps) {
    std::vector<Float3> light(probes.size());
    frames_.clear();
    for (const Probe& probe : probes) {
      // Flat maps have one normal.
      const bool same = !frames_.empty() && frames_.back().y == probe.normal;
      frames_.push_back(same ? frames_.back() : frame_about(probe.normal));
    }
    add_sky(probes, columns, light);
    add_sun(probes, columns, light);
    for (const Lamp& lamp : geometry_.lamps) add_lamp(lamp, probes, light);
    return smooth(light, columns, rows, wraps);
  }

 private:
  // Queues one ray per probe and calls `use(i, visible)` for each.
  template <typename Ray, typename Use>
  void cast(const std::vector<Probe>& probes, Ray&& ray, Use&& use) {
    const size_t count = probes.size();
    for (auto& values : values_) values.resize(count);
    index_.clear();
    for (size_t i = 0; i < count; ++i) {
      Float3 direction;
      float reach = 0;
      if (!ray(i, direction, reach)) continue;
      const size_t k = index_.size();
      const Float3 start = probes[i].position + probes[i].normal * kLift;
      values_[0][k] = start.x;
      values_[1][k] = start.y;
      values_[2][k] = start.z;
      values_[3][k] = direction.x;
      values_[4][k] = direction.y;
      values_[5][k] = direction.z;
      values_[6][k] = reach;
      index_.push_back(i);
    }
    visible_.resize(index_.size());
    tracer_.visibility(view_,
                       {static_cast<int>(index_.size()), values_[0].data(), values_[1].data(),
                        values_[2].data(), values_[3].data(), values_[4].data(), values_[5].data(),
                        values_[6].data(), visible_.data()});
    for (size_t k = 0; k < index_.size(); ++k) use(index_[k], visible_[k] != 0);
  }

  static int phase(size_t i, int columns) {
    const int n = static_cast<int>(i);
    return (n % columns & 1) + 2 * (n / columns & 1);
  }

  void add_sky(const std::vector<Probe>& probes, int columns, std::vector<Float3>& light) {
    const Atmosphere& air = geometry_.atmosphere;
    const float share = 1.0f / kSkyRays;
    for (int k = 0; k < kSkyRays; ++k) {
      std::vector<Float3> incoming(probes.size());
      cast(
          probes,
          [&](size_t i, Float3& direction, float& reach) {
            const Frame& frame = frames_[i];
            const Float3 d = directions_.sky[phase(i, columns)][k];
            direction = frame.x * d.x + frame.y * d.y + frame.z * d.z;
            incoming[i] = mix(air.ground_light, air.sky_light, clamp01(0.5f + 1.5f * direction.y));
            reach = kSkyReach;
            return true;
          },
          [&](size_t i, bool visible) {
            // The occluding solid reflects some light.
            light[i] += incoming[i] * (visible ? share : 0.22f * share);
          });
    }
  }

  void add_sun(const std::vector<Probe>& probes, int columns, std::vector<Float3>& light) {
    const Atmosphere& air = geometry_.atmosphere;
    const float share = 1.0f / kSunRays;
    for (int k = 0; k < kSunRays; ++k) {
      cast(
          probes,
          [&](size_t i, Float3& direction, float& reach) {
            const auto [a, b] = directions_.disc[phase(i, columns)][k];
            direction = normalise(sun_.y + sun_.x * a + sun_.z * b);
            reach = kSunReach;
            return dot(probes[i].normal, sun_.y) > 0;
          },
          [&](size_t i, bool visible) {
            if (visible) light[i] += air.sun_colour * (share * dot(probes[i].normal, sun_.y));
          });
    }
  }

  void add_lamp(const Lamp& lamp, const std::vector<Probe>& probes, std::vector<Float3>& light) {
    std::vector<float> strength(probes.size());
    cast(
        probes,
        [&](size_t i, Float3& direction, float& reach) {
          const Float3 way = lamp.position - probes[i].position;
          const float square = dot(way, way);
          if (square > lamp.reach * lamp.reach) return false;
          reach = std::sqrt(square) + 1e-6f;
          direction = way * (1 / reach);
          const float facing = dot(direction, probes[i].normal);
          const float fade = 1 - square / (lamp.reach * lamp.reach);
          strength[i] = std::max(facing, 0.0f) * fade * fade / (0.6f + lamp.falloff * square);
          reach -= 0.4f;  // the lamp's own body
          return facing > 0 && reach > 0;
        },
        [&](size_t i, bool visible) {
          if (visible) light[i] += lamp.colour * strength[i];
        });
  }

  static std::vector<Float3> smooth(const std::vector<Float3>& from, int columns, int rows,
                                    bool wraps) {
    std::vector<Float3> across(from.size()), down(from.size());
    const auto at = [columns](int x, int y) { return static_cast<size_t>(y) * columns + x; };
    for (int y = 0; y < rows; ++y) {
      for (int x = 0; x < columns; ++x) {
        // The last column of a map that goes around repeats its first.
        const int left = x > 0 ? x - 1 : wraps ? columns - 2 : 0;
        const int right = x < columns - 1 ? x + 1 : wraps ? 1 : columns - 1;
        across[at(x, y)] =
            from[at(left, y)] * 0.25f + from[at(x, y)] * 0.5f + from[at(right, y)] * 0.25f;
      }
    }
    for (int y = 0; y < rows; ++y) {
      for (int x = 0; x < columns; ++x) {
        down[at(x, y)] = across[at(x, std::max(y - 1, 0))] * 0.25f + across[at(x, y)] * 0.5f +
                         across[at(x, std::min(y + 1, rows - 1))] * 0.25f;
      }
    }
    return down;
  }

  const SceneGeometry& geometry_;
  TracerScene view_;
  const Tracer& tracer_;
  Frame sun_;
  Directions directions_;
  std::vector<Frame> frames_;
  std::array<std::vector<float>, 7> values_;
  std::vector<size_t> index_;
  std::vector<uint8_t> visible_;
};

// Position and normal of texel (column, row) of a surface's light map.
Probe probe_of(const Solid& solid, const Surface& surface, int column, int row) {
  const float u = surface.low_u + static_cast<float>(column) / surface.scale_u;
  const float v = surface.low_v + static_cast<float>(row) / surface.scale_v;
  if (surface.mapping == Mapping::kPlanar) {
    const Float3 &a = surface.axis_u, &b = surface.axis_v, &n = surface.normal;
    return {a * (u - surface.u0) + b * (v - surface.v0) + n * surface.offset, n};
  }
  const double angle = u / surface.radius;
  const float c = static_cast<float>(exact_cos(angle)), s = static_cast<float>(exact_sin(angle));
  if (solid.shape == Shape::kFrustum) {
    const float slope = (solid.size.z - solid.size.x) / solid.size.y;
    const float radius = solid.size.x + slope * (v - solid.centre.y);
    return {{surface.u0 + c * radius, v, surface.v0 + s * radius}, normalise({c, -slope, s})};
  }
  // The ellipsoid's point at this azimuth and height, in its own axes.
  const float y = std::clamp((v - solid.centre.y) / solid.size.y, -0.999f, 0.999f);
  const float lx = c * solid.cosine - s * solid.sine, lz = c * solid.sine + s * solid.cosine;
  const float ex = lx / solid.size.x, ez = lz / solid.size.z;
  const float radius = std::sqrt(1 - y * y) / std::sqrt(ex * ex + ez * ez);
  const float nx = lx * radius / (solid.size.x * solid.size.x);
  const float nz = lz * radius / (solid.size.z * solid.size.z);
  const Float3 normal{nx * solid.cosine + nz * solid.sine, y / solid.size.y,
                      -nx * solid.sine + nz * solid.cosine};
  return {{surface.u0 + c * radius, v, surface.v0 + s * radius}, normalise(normal)};
}

int surfaces_of(const Solid& solid) {
  switch (solid.shape) {
    case Shape::kBox:
      return 6;
    case Shape::kFrustum:
      return 3;
    case Shape::kEllipsoid:
      return 1;
    case Shape::kHull:
      break;
  }
  return solid.planes;
}

void light_solids(SceneGeometry& geometry, LightComputer& computer) {
  geometry.light_scale = 4;
  std::vector<Probe> probes;
  for (const Solid& solid : geometry.solids) {
    for (int i = 0; i < surfaces_of(solid); ++i) {
      const Surface& surface =
          geometry.surfaces[static_cast<size_t>(solid.first_surface) + static_cast<size_t>(i)];
      probes.clear();
      for (int row = 0; row < surface.rows; ++row) {
        for (int column = 0; column < surface.columns; ++column) {
          probes.push_back(probe_of(solid, surface, column, row));
        }
      }
      const bool wraps = surface.mapping == Mapping::kAngular;
      const std::vector<Float3> light = computer.grid(probes, surface.columns, surface.rows, wraps);
      for (size_t k = 0; k < light.size(); ++k) {
        geometry.light[static_cast<size_t>(surface.light_offset) + k] =
            pack_light(light[k], geometry.light_scale);
      }
    }
  }
}

void light_ground(SceneGeometry& geometry, LightComputer& computer, const PaintedGround& painted) {
  GroundMap& map = geometry.ground;
  map.size = painted.size;
  map.half_extent = painted.half_extent;
  map.scale = 3;
  map.texels.resize(painted.samples.size());
  const float step = 2 * map.half_extent / static_cast<float>(map.size - 1) * kGroundStep;
  const int coarse = map.size / kGroundStep + 2;
  std::vector<Probe> probes;
  for (int row = 0; row < coarse; ++row) {
    for (int column = 0; column < coarse; ++column) {
      probes.push_back({{static_cast<float>(column) * step - map.half_extent, 0,
                         static_cast<float>(row) * step - map.half_extent},
                        {0, 1, 0}});
    }
  }
  const std::vector<Float3> light = computer.grid(probes, coarse, coarse, false);
  const auto byte = [](float root) { return static_cast<uint32_t>(clamp01(root) * 255 + 0.5f); };
  for (int row = 0; row < map.size; ++row) {
    const int y = row / kGroundStep;
    const float fy = static_cast<float>(row % kGroundStep) / kGroundStep;
    for (int column = 0; column < map.size; ++column) {
      const int x = column / kGroundStep;
      const float fx = static_cast<float>(column % kGroundStep) / kGroundStep;
      const Float3* near = light.data() + static_cast<size_t>(y) * coarse + x;
      const Float3 value =
          mix(mix(near[0], near[1], fx), mix(near[coarse], near[coarse + 1], fx), fy);
      const size_t at = static_cast<size_t>(row) * map.size + column;
      const Float3 lit = painted.samples[at].albedo * value * (1 / map.scale);
      map.texels[at] = byte(std::sqrt(lit.x)) | byte(std::sqrt(lit.y)) << 8 |
                       byte(std::sqrt(lit.z)) << 16 | byte(painted.samples[at].path) << 24;
    }
  }
  const Atmosphere& air = geometry.atmosphere;
  geometry.far_ground =
      painted.far_albedo * (air.sky_light + air.sun_colour * std::max(0.0f, air.sun_direction.y));
}

}  // namespace

void compute_light(SceneGeometry& geometry, const PaintedGround& ground) {
  LightComputer computer(geometry);
  light_solids(geometry, computer);
  light_ground(geometry, computer, ground);
}

}  // namespace loci::world
