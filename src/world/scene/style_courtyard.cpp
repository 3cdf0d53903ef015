// SPDX-License-Identifier: Apache-2.0
// A courtyard: arcades on columns around a garden or pool, four differently coloured wings, corner
// towers.
#include <array>

#include "loci/world/scene/parts.h"
#include "loci/world/scene/patterns.h"
#include "loci/world/scene/styles.h"

namespace loci::world {

namespace {

constexpr std::array<std::array<uint32_t, 4>, 4> kWings = {{
    {0xe2a04c, 0xc8543e, 0xefe2c8, 0x6c94a8},
    {0xf3e6cc, 0x9fb78a, 0xd97f5a, 0xe3b95e},
    {0xd46a54, 0xe9d8b4, 0x4f8a94, 0xc98aa0},
    {0xf0c978, 0xe8e0d0, 0xa85f6e, 0x7d9a6a},
}};

class Courtyard {
 public:
  explicit Courtyard(Draft& draft)
      : d(draft), half_x_(d.uniform(11, 14)), half_z_(d.uniform(11, 14)), wings_(d.pick(kWings)) {}

  void build() {
    paint();
    for (int side = 0; side < 4; ++side) wing(side);
    corners();
    centre();
    corner_gardens();
    d.trajectory_radius = std::max(half_x_, half_z_) + 1;
    for (int side = 0; side < 4; ++side) {
      const float out = side % 2 == 0 ? half_z_ : half_x_;
      d.viewpoints.push_back(quarter_turned(side, 0, out - 4.6f, 180));
      d.viewpoints.push_back(quarter_turned(side, 3.5f, out - 1.4f, 200));
      d.viewpoints.push_back(quarter_turned(side, -4.5f, out - 5.5f, 60));
    }
  }

 private:
  void paint() {
    const bool snow = d.mood.snow();
    d.ground.base = snow ? colour(0xeef3f8) : colour(0x7fa552);
    d.ground.second = snow ? colour(0xe0e9f2) : colour(0x94b35e);
    const Float3 stone =
        snow ? colour(0xccd2da)
             : colour(d.pick(std::to_array<uint32_t>({0xd2b88f, 0xc2b8a8, 0xd69f78})));
    const Float3 walk = snow ? colour(0xbcc4ce) : stone * 0.8f;
    d.ground.strokes.push_back({-half_x_, -half_z_, half_x_, half_z_, -1, stone, 1, 0.1f});
    d.ground.strokes.push_back(
        {-half_x_ + 2.8f, -half_z_ + 2.8f, half_x_ - 2.8f, half_z_ - 2.8f, -1, walk, 1, 0.1f});
    // Four beds of grass with paths between them.
    const Float3 grass = d.ground.base;
    for (const float sx : {-1.0f, 1.0f}) {
      for (const float sz : {-1.0f, 1.0f}) {
        const float x0 = sx * 1.9f, x1 = sx * (half_x_ - 4.6f), z0 = sz * 1.9f,
                    z1 = sz * (half_z_ - 4.6f);
        d.ground.strokes.push_back({std::min(x0, x1), std::min(z0, z1), std::max(x0, x1),
                                    std::max(z0, z1), -1, grass, 0, 0.08f});
      }
    }
    d.ground.strokes.push_back({0, 0, 0, 0, 4.4f, walk, 1, 0.1f});
    d.ground.strokes.push_back({0, 0, 0, 0, 3.6f, stone, 1, 0.1f});
    d.geometry.meadow = {snow ? kSnow : kGrass, 3.5f, {}, {0.1f, 0, 0}, {-0.15f, 0, 0}};
    d.geometry.path = {
        d.random.chance(0.5) ? kTiles : kChecker, 3.2f, {}, {-0.16f, 0, 0}, {-0.22f, 0, 0}};
  }

  // One side: a building behind an arcade. `side` 0 is at +z.
  void wing(int side) {
    const float out = side % 2 == 0 ? half_z_ : half_x_, half = side % 2 == 0 ? half_x_ : half_z_;
    const Float3 wall = colour(wings_[static_cast<size_t>(side)]), trim = colour(0xf6efe0);
    const Float3 glass = d.mood.dark() ? colour(0x1c2a44) : colour(0x46648a);
    const Float3 light = Float3{2.3f, 1.45f, 0.55f} * d.mood.lamps();
    const float height = side % 2 == 0 ? 6.6f : 5.8f;
    const int32_t facade = d.material(kArches, 9.2f, wall, trim, glass, light);
    const int32_t inner = d.matte(kPlaster, 4, mix(wall, trim, 0.35f), 0.12f);
    const int32_t stone = d.matte(kPlain, 2, trim, 0.12f);
    const int32_t roof = d.topped(d.matte(
        kRoofTiles, 3,
        colour(d.pick(std::to_array<uint32_t>({0xb04a32, 0x4a5d78, 0x5b6b4e, 0x9c5a2e}))), 0.35f));
    d.build.box(quarter_turned(side, 0, out + 2.5f, 0), 2 * half + 8, height, 5,
                Faces{facade, inner});
    d.build.gable(SceneBuilder::inside(quarter_turned(side, 0, out + 2.5f, 90), 0, height, 0), 5.4f,
                  2.4f, 2 * half + 8, 0.3f, roof, inner);
    // The arcade's roof on columns. Two sides have a gate in the middle.
    d.build.box(SceneBuilder::inside(quarter_turned(side, 0, out - 1.3f, 0), 0, 3.3f, 0), 2 * half,
                0.35f, 2.9f, d.faces(stone));
    const int count = static_cast<int>(half / 1.7f);
    const float step = 2 * (half - 2.6f) / static_cast<float>(count);
    for (int i = 0; i <= count; ++i) {
      const float x = -(half - 2.6f) + step * static_cast<float>(i);
      add_column(d, quarter_turned(side, x, out - 2.6f, 0), 0.24f, 3.3f,
                 side % 2 ? trim : mix(trim, wall, 0.5f));
    }
    for (const float x : {-0.5f * half, 0.5f * half}) {
      add_lantern(d, SceneBuilder::inside(quarter_turned(side, x, out - 1.3f, 0), 0, 2.75f, 0),
                  0.9f, {1, 0.95f, 0.9f});
    }
    const NamedColour door = d.take_accent();
    const Float3 paint = colour(door.rgb);
    d.build.box(quarter_turned(side, d.uniform(-3, 3), out - 0.02f, 0), 1.9f, 2.7f, 0.2f,
                d.material(kPanel, 2.7f, paint, paint * 1.3f, trim));
  }

  void corners() {
    int named = 0;
    for (int corner = 0; corner < 4; ++corner) {
      if (corner > 1 && d.random.chance(0.4)) continue;
      const NamedColour accent = d.take_accent();
      const float sx = corner == 0 || corner == 3 ? 1.0f : -1.0f, sz = corner < 2 ? 1.0f : -1.0f;
      const int roof = static_cast<int>(d.random.below(4));
      add_tower(d, {sx * (half_x_ + 2.4f), 0, sz * (half_z_ + 2.4f), 0}, 2.5f, d.uniform(10, 14),
                colour(accent.rgb),
                colour(d.pick(std::to_array<uint32_t>({0xb04a32, 0x3f5a86, 0xe0b040, 0x4f7a5a}))),
                roof, d.random.chance(0.6));
      if (named++ < 2) d.feature(fmt::format("a {} corner tower", accent.name));
    }
  }

  void centre() {
    const NamedColour accent = d.take_accent();
    switch (d.random.below(4)) {
      case 0:
        add_fountain(d, {0, 0, 0, 0}, 2.4f, colour(0xd9cfbc));
        d.feature("a fountain in the middle", true);
        break;
      case 1: {
        const int32_t rim = d.matte(kAshlar, 1.5f, colour(0xd8ccb4));
        for (const float side : {-1.0f, 1.0f}) {
          d.build.box({0, 0, side * 4.2f, 0}, 3.6f, 0.4f, 0.4f, d.faces(rim));
          d.build.box({side * 1.6f, 0, 0, 0}, 0.4f, 0.4f, 8.0f, d.faces(rim));
        }
        d.build.box({0, 0, 0, 0}, 2.8f, 0.24f, 8.0f,
                    d.water(d.mood.dark() ? colour(0x16324c) : colour(0x2a7f9c)));
        d.feature("a long reflecting pool", true);
        break;
      }
      case 2:
        add_obelisk(d, {0, 0, 0, 0}, 5.5f, colour(accent.rgb));
        d.feature(fmt::format("a {} obelisk", accent.name), true);
        break;
      default:
        d.build.cylinder({0, 0, 0, 0}, 1.7f, 0.5f,
                         d.faces(d.matte(kAshlar, 1.4f, colour(0xcfc2aa))));
        d.build.sphere({0, 0.4f, 0, 0}, 1.3f, d.matte(kStripes, 2.2f, colour(accent.rgb), 0.35f));
        d.feature(fmt::format("a {} stone sphere", accent.name), true);
        break;
    }
  }

  void corner_gardens() {
    constexpr std::array<uint32_t, 6> kLeaves = {0x4c8a3a, 0xd98aa4, 0xc8762c,
                                                 0x7aa63a, 0xb84a5c, 0xe2c04a};
    size_t leaf = d.random.below(kLeaves.size());
    for (const float sx : {-1.0f, 1.0f}) {
      for (const float sz : {-1.0f, 1.0f}) {
        const Place at{sx * d.uniform(4.6, half_x_ - 6), 0, sz * d.uniform(4.6, half_z_ - 6), 0};
        const Float3 tint = colour(kLeaves[leaf++ % kLeaves.size()]);
        switch (d.random.below(4)) {
          case 0:
            add_round_tree(d, at, d.uniform(4.4, 5.6), tint);
            break;
          case 1:
            add_conifer(d, at, d.uniform(4.5, 6), colour(0x2f6f4a));
            break;
          case 2:
            add_statue(d, at, 3.2f, colour(d.take_accent().rgb));
            add_bush(d, {at.x + 1.3f * sx, 0, at.z, 0}, 0.6f, tint);
            break;
          default:
            add_round_tree(d, at, d.uniform(3.6, 4.6), tint);
            add_bush(d, {at.x, 0, at.z + 1.5f * sz, 0}, 0.6f, colour(0x4f9150));
            break;
        }
        if (d.random.chance(0.5))
          add_bench(d, {sx * 2.6f, 0, sz * 4.9f, sx * 90}, colour(0x8f6238));
      }
    }
  }

  Draft& d;
  float half_x_, half_z_;
  std::array<uint32_t, 4> wings_;
};

}  // namespace

void build_courtyard(Draft& draft) { Courtyard(draft).build(); }

}  // namespace loci::world
