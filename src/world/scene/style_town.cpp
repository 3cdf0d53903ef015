// SPDX-License-Identifier: Apache-2.0
// A small town: a round square with a monument, four streets that end at towers, a ring road.
#include <array>

#include "loci/world/scene/parts.h"
#include "loci/world/scene/patterns.h"
#include "loci/world/scene/styles.h"

namespace loci::world {

namespace {

constexpr float kStreet = 2.7f;  // half width
constexpr float kRing = 19.5f;   // distance of the ring road's centre line from the origin
constexpr float kSquare = 8.5f;  // radius of the square

constexpr std::array<std::array<uint32_t, 5>, 4> kWalls = {{
    {0xe8b04a, 0xd9683f, 0xf0dfc0, 0xc9485b, 0x7fa7b8},
    {0xf2d6a2, 0x86b38e, 0xe98f6b, 0x5f86b5, 0xf5efe0},
    {0xcf5f46, 0xf0c86a, 0xe8e2d2, 0x5a8f8a, 0xb86a8c},
    {0xf6e3b8, 0xe07b5a, 0x9bc0cc, 0xd9a1b4, 0xa8b86c},
}};
constexpr std::array<uint32_t, 6> kRoofs = {0xb04a32, 0x8c3b30, 0x4a5d78,
                                            0x5b6b4e, 0x7d4a68, 0xc8692e};

struct Rect {
  float x0, z0, x1, z1;
};

// Lots that are occupied.
class Lots {
 public:
  bool take(const Rect& r) {
    for (const float x : {r.x0, r.x1}) {
      for (const float z : {r.z0, r.z1}) {
        if (x * x + z * z < (kSquare + 0.3f) * (kSquare + 0.3f)) return false;
      }
    }
    const auto crosses = [](float low, float high, float line, float half) {
      return low < line + half && high > line - half;
    };
    if (crosses(r.x0, r.x1, 0, kStreet) || crosses(r.z0, r.z1, 0, kStreet)) return false;
    for (const float ring : {-kRing, kRing}) {
      if (crosses(r.x0, r.x1, ring, kStreet) || crosses(r.z0, r.z1, ring, kStreet)) return false;
    }
    for (const Rect& other : taken_) {
      if (r.x0 < other.x1 && r.x1 > other.x0 && r.z0 < other.z1 && r.z1 > other.z0) return false;
    }
    taken_.push_back(r);
    return true;
  }

 private:
  std::vector<Rect> taken_;
};

class Town {
 public:
  explicit Town(Draft& draft) : d(draft), walls_(d.pick(kWalls)) {}

  void build() {
    paint();
    monument();
    towers();
    // Houses that face the streets of the square, then houses on both sides of the ring road.
    for (int quarter = 0; quarter < 4; ++quarter) {
      row(quarter, kStreet, kSquare - 3, kRing - kStreet);
      row(quarter, -kStreet, kSquare - 3, kRing - kStreet);
      row(quarter, kStreet, kRing + kStreet, 33);
      row(quarter, -kStreet, kRing + kStreet, 33);
    }
    for (int quarter = 0; quarter < 4; ++quarter) {
      row(quarter, kRing - kStreet, -16, 16);
      row(quarter, kRing + kStreet, -25, 25);
    }
    furniture();
    d.trajectory_radius = 25;
    for (int quarter = 0; quarter < 4; ++quarter) {
      d.viewpoints.push_back(quarter_turned(quarter, 0, 6.2f, 180));
      d.viewpoints.push_back(quarter_turned(quarter, 0, 12, 0));
      d.viewpoints.push_back(quarter_turned(quarter, kRing, 8, 180));
      d.viewpoints.push_back(quarter_turned(quarter, -kRing, 0, 90));
    }
  }

 private:
  void paint() {
    const bool snow = d.mood.snow();
    d.ground.base = snow ? colour(0xeef3f8) : colour(0x86a55a);
    d.ground.second = snow ? colour(0xdde7f0) : colour(0x9cb062);
    const Float3 stone =
        snow ? colour(0xc4cbd4)
             : colour(d.pick(std::to_array<uint32_t>({0xb9a58c, 0xa7a39c, 0xc09a7c})));
    const Float3 dark = stone * 0.72f;
    for (int quarter = 0; quarter < 4; ++quarter) {
      const Place a = quarter_turned(quarter, 0, 0, 0), b = quarter_turned(quarter, 0, 34, 0);
      d.ground.strokes.push_back({a.x, a.z, b.x, b.z, kStreet, stone});
      const Place c = quarter_turned(quarter, -kRing, kRing, 0),
                  e = quarter_turned(quarter, kRing, kRing, 0);
      d.ground.strokes.push_back({c.x, c.z, e.x, e.z, kStreet, stone});
    }
    const Float3 ring =
        snow ? stone * 1.1f
             : colour(d.pick(std::to_array<uint32_t>({0xd8c39a, 0xc77f5c, 0x8f9db0})));
    d.ground.strokes.push_back({0, 0, 0, 0, kSquare, stone, 1, 0.1f});
    d.ground.strokes.push_back({0, 0, 0, 0, 6.4f, ring, 1, 0.1f});
    d.ground.strokes.push_back({0, 0, 0, 0, 5.2f, dark, 1, 0.1f});
    d.ground.strokes.push_back({0, 0, 0, 0, 4.6f, ring, 1, 0.1f});
    d.geometry.meadow = {snow ? kSnow : kGrass, 4, {}, {0.1f, 0, 0}, {-0.15f, 0, 0}};
    d.geometry.path = {kCobbles, 2.2f, {}, {0.12f, 0, 0}, {snow ? -0.18f : -0.3f, 0, 0}};
  }

  void monument() {
    const Place centre{0, 0, 0, 0};
    const NamedColour accent = d.take_accent();
    switch (d.random.below(4)) {
      case 0:
        add_fountain(d, centre, 2.3f, colour(0xd8cdb8));
        d.feature("a round fountain");
        break;
      case 1:
        add_obelisk(d, centre, 7, colour(accent.rgb));
        d.feature(fmt::format("a {} obelisk", accent.name));
        break;
      case 2:
        add_statue(d, centre, 4.5f, colour(accent.rgb));
        d.feature(fmt::format("a {} statue", accent.name));
        break;
      default:
        d.build.frustum(centre, 2.2f, 2.0f, 0.6f,
                        d.faces(d.matte(kAshlar, 1.4f, colour(0xcfc4b0))));
        add_round_tree(
            d, {0, 0.5f, 0, 0}, 6.5f,
            colour(d.pick(std::to_array<uint32_t>({0x5f9a3c, 0xe58fb0, 0xe0902c, 0xc84a3c}))));
        d.feature("an old tree on the square");
        break;
    }
  }

  void towers() {
    for (int quarter = 0; quarter < 4; ++quarter) {
      const NamedColour accent = d.take_accent();
      const Place at = quarter_turned(quarter, 0, 35.5f, 180);
      const int roof = static_cast<int>(d.random.below(4));
      const Float3 wall = colour(accent.rgb), roofing = colour(d.pick(kRoofs));
      add_tower(d, at, 2.8f + d.uniform(0, 0.6), 11 + d.uniform(0, 5), wall, roofing, roof,
                d.random.chance(0.6));
      if (quarter < 2) {
        static constexpr const char* kKinds[] = {"tower", "spire", "domed tower", "keep"};
        d.feature(fmt::format("a {} {}", accent.name, kKinds[roof]));
      }
    }
  }

  // Houses along the line x = `line` of a sector, facing the line from outside, with z from `from`
  // to `to`.
  void row(int quarter, float line, float from, float to) {
    const float side = line < 0 || line == kRing - kStreet ? -1.0f : 1.0f;
    float z = from + d.uniform(0, 0.8);
    while (z < to - 4.5f) {
      const float width = std::min(d.uniform(4.6, 7.4), to - z), depth = d.uniform(4.6, 5.6);
      const float x = line + side * depth * 0.5f;
      const Place at = quarter_turned(quarter, x, z + width * 0.5f, side > 0 ? 90 : -90);
      const bool sideways = quarter % 2 == 0;
      const float hx = 0.5f * (sideways ? depth : width), hz = 0.5f * (sideways ? width : depth);
      if (lots_.take({at.x - hx, at.z - hz, at.x + hx, at.z + hz})) {
        house(at, width - 0.1f, depth);
        z += width + (d.random.chance(0.25) ? d.uniform(1.6, 3) : 0.15f);
      } else {
        z += 0.8f;
      }
    }
  }

  void house(const Place& at, float width, float depth) {
    HouseLook look;
    // The colours cycle, so that neighbours differ.
    look.wall = colour(walls_[next_++ % walls_.size()]);
    look.trim = d.random.chance(0.7) ? colour(0xf5efe2) : look.wall * 0.45f;
    look.roof = colour(d.pick(kRoofs));
    look.brick = d.random.chance(0.3);
    look.shape = d.random.chance(0.7) ? HouseLook::Roof::kGable : HouseLook::Roof::kPyramid;
    add_house(d, at, width, depth, 1 + static_cast<int>(d.random.below(3)), look);
  }

  void furniture() {
    const Float3 leaf =
        colour(d.pick(std::to_array<uint32_t>({0x4c8a3a, 0x6fa03c, 0xc8762c, 0xd98aa4})));
    for (int quarter = 0; quarter < 4; ++quarter) {
      for (const float z : {7.4f, 14.0f, 21.5f, 29.0f}) {
        const float x = d.random.chance(0.5) ? kStreet - 0.4f : 0.4f - kStreet;
        add_lamp_post(d, quarter_turned(quarter, x, z, 0));
      }
      const float angle = 45;
      const Place diagonal =
          SceneBuilder::inside({0, 0, 0, 90.0f * static_cast<float>(quarter) + angle}, 0, 0, 6.9f);
      switch (d.random.below(4)) {
        case 0:
          add_stall(d, {diagonal.x, 0, diagonal.z, diagonal.rotation}, colour(d.take_accent().rgb));
          if (quarter == 0) d.feature("market stalls");
          break;
        case 1:
          add_round_tree(d, diagonal, d.uniform(3.6, 5), leaf);
          break;
        case 2:
          add_bench(d, diagonal, colour(0x9a6a3c));
          break;
        default:
          add_sign(d, {diagonal.x, 0, diagonal.z, diagonal.rotation}, colour(d.take_accent().rgb),
                   colour(0xf8f4ea));
          break;
      }
      // Trees in the yards and behind the outer houses.
      for (int i = 0; i < 5; ++i) {
        const Place at = quarter_turned(quarter, d.uniform(-33, 33), d.uniform(28, 38), 0);
        const float h = d.uniform(4.5, 7.5);
        if (lots_.take({at.x - 1.2f, at.z - 1.2f, at.x + 1.2f, at.z + 1.2f}))
          add_round_tree(d, at, h, leaf);
      }
    }
  }

  Draft& d;
  std::array<uint32_t, 5> walls_;
  Lots lots_;
  size_t next_ = 0;
};

}  // namespace

void build_town(Draft& draft) { Town(draft).build(); }

}  // namespace loci::world
