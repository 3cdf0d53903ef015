// SPDX-License-Identifier: Apache-2.0
// A desert: dunes, mesas and pyramids around an oasis, with domed houses and cacti.
#include <array>

#include "loci/world/scene/parts.h"
#include "loci/world/scene/patterns.h"
#include "loci/world/scene/styles.h"

namespace loci::world {

namespace {

struct Sand {
  uint32_t sand, sand2, rock, rock2;
};
constexpr std::array<Sand, 4> kSands = {{
    {0xe8c07a, 0xdeb068, 0xc0603a, 0xe0a060},
    {0xe2a266, 0xd8925a, 0x9c4a38, 0xd47a4a},
    {0xf0dcb0, 0xe6cc98, 0xb88a5c, 0xe8c890},
    {0xd8b0a0, 0xcc9c90, 0x8a5a70, 0xc88a90},
}};

class Desert {
 public:
  explicit Desert(Draft& draft) : d(draft), sand_(d.pick(kSands)) {}

  void build() {
    const bool snow = d.mood.snow();
    d.ground.base = colour(snow ? 0xf0f2f4 : sand_.sand);
    d.ground.second = colour(snow ? 0xe4e6ea : sand_.sand2);
    d.ground.patch = 12;
    d.geometry.meadow = {kSand, 5, {}, {-0.1f, 0, 0}, {0, 0, 0}};
    d.geometry.path = {kCobbles, 2.4f, {}, {-0.08f, 0, 0}, {-0.2f, 0, 0}};
    oasis();
    monuments();
    scatter();
    distance();
    d.trajectory_radius = 24;
  }

 private:
  static Place polar(double angle, float reach, float rotation = 0) {
    return {reach * static_cast<float>(exact_sin(angle)), 0,
            reach * static_cast<float>(exact_cos(angle)), rotation};
  }

  void view(const Place& at, const Place& target) {
    const float rotation =
        static_cast<float>(exact_atan2(target.x - at.x, target.z - at.z) * (180 / kPi));
    d.viewpoints.push_back({at.x, 0, at.z, rotation});
  }

  void oasis() {
    const float radius = d.uniform(3, 4.2);
    const Float3 green = colour(d.mood.snow() ? 0xd8e0e8 : 0x86a84e);
    d.ground.strokes.push_back({0, 0, 0, 0, radius + 1.6f, green, 0, 1.6f});
    add_pond(d, {0, 0, 0, 0}, radius, d.mood.dark() ? colour(0x12384c) : colour(0x1f8fa0));
    d.reserve(0, 0, radius + 2.4f);
    for (int i = 0; i < 6; ++i) {
      const double angle = 2 * kPi * (i + d.random.uniform(-0.3, 0.3)) / 6;
      add_palm(d, polar(angle, radius + d.uniform(0.8, 1.8)), d.uniform(3.8, 6));
      if (i % 2 == 0) add_bush(d, polar(angle + 0.4, radius + 1), 0.55f, colour(0x5f9a48));
    }
    d.feature("an oasis with palms");
  }

  void monuments() {
    std::array<int, 7> kinds = {0, 1, 2, 3, 4, 5, 6};
    for (size_t i = kinds.size(); i > 1; --i) std::swap(kinds[i - 1], kinds[d.random.below(i)]);
    const double start = d.random.uniform(0, 2 * kPi);
    const int count = 6;
    Place previous = polar(start - 2 * kPi / count, 16);
    for (int i = 0; i < count; ++i) {
      const double angle = start + 2 * kPi * (i + d.random.uniform(-0.15, 0.15)) / count;
      const Place at = polar(angle, d.uniform(14.5, 18.5), d.uniform(0, 360));
      monument(kinds[static_cast<size_t>(i)], at, static_cast<float>(angle * (180 / kPi)));
      // Stone slabs lead from the water to each of them.
      const Place from = polar(angle, 6), to = polar(angle, 12);
      d.ground.strokes.push_back(
          {from.x, from.z, to.x, to.z, 1.0f, colour(sand_.rock2), 0.9f, 0.8f});
      d.reserve(0.5f * (from.x + to.x), 0.5f * (from.z + to.z), 1.5f);
      d.reserve(from.x, from.z, 1.3f);
      d.reserve(to.x, to.z, 1.3f);
      view(polar(angle, 7.5f), at);
      view(polar(angle + 0.5, 13), {0, 0, 0, 0});
      view(polar(angle - 0.4, 10), previous);
      previous = at;
    }
  }

  void monument(int kind, const Place& at, float angle) {
    const NamedColour accent = d.take_accent();
    const Float3 tint = colour(accent.rgb), rock = colour(sand_.rock), pale = colour(sand_.rock2);
    d.reserve(at.x, at.z, 5);
    if (d.mood.lamps() > 0) {
      const Place lamp =
          SceneBuilder::inside({at.x, 0, at.z, angle + d.uniform(140, 220)}, 0, 0, 5.4f);
      add_lamp_post(d, {lamp.x, 0, lamp.z, 0});
    }
    switch (kind) {
      case 0:
        d.build.pyramid(at, 8, 6, 8, 0, d.matte(kAshlar, 2.4f, pale, 0.16f));
        d.build.pyramid({at.x, 4.9f, at.z, at.rotation}, 1.75f, 1.4f, 1.75f, 0,
                        d.matte(kPlain, 2, tint));
        d.feature(fmt::format("a pyramid with a {} tip", accent.name));
        break;
      case 1:
        for (const float x : {-2.6f, 2.2f}) {
          HouseLook look;
          look.wall = x < 0 ? colour(0xf2e6cc) : pale;
          look.trim = tint * 0.8f;
          look.roof = tint;
          look.shape = HouseLook::Roof::kDome;
          add_house(d, SceneBuilder::inside({at.x, 0, at.z, angle}, x, 0, x < 0 ? 0.0f : 0.8f),
                    4.4f, 4.4f, 1, look);
        }
        d.feature(fmt::format("houses with {} domes", accent.name));
        break;
      case 2:
        add_obelisk(d, at, 6.5f, tint);
        d.feature(fmt::format("a {} obelisk", accent.name));
        break;
      case 3:
        for (const float side : {-1.0f, 1.0f}) {
          d.build.frustum(SceneBuilder::inside(at, side * 2.2f, 0, 0), 1.3f, 0.9f, 3.6f,
                          d.matte(kStrata, 4, rock, 0.25f));
        }
        d.build.ellipsoid(SceneBuilder::inside(at, 0, 3.1f, 0), 3.5f, 0.8f, 1.2f,
                          d.matte(kStrata, 4, rock, 0.25f));
        d.feature("a rock arch");
        break;
      case 4:
        add_tower(d, at, 1.9f, 9, tint, colour(0xe8c050), 2, true);
        d.feature(fmt::format("a {} minaret", accent.name));
        break;
      case 5:
        for (int i = 0; i < 5; ++i) {
          const Place post = SceneBuilder::inside(at, -4 + 2.0f * static_cast<float>(i), 0, 0);
          add_column(d, post, 0.35f, i % 2 ? 3.8f : 2.6f, mix(pale, tint, 0.45f));
        }
        d.feature(fmt::format("a row of {} columns", accent.name));
        break;
      default:
        d.build.cone(at, 2.0f, 3.2f, d.material(kStripes, 1.8f, tint, colour(0xf6ecd4), tint));
        d.build.cone(SceneBuilder::inside(at, 3.2f, 0, 1.4f), 1.6f, 2.6f,
                     d.material(kStripes, 1.8f, tint * 0.7f, colour(0xf6ecd4), tint));
        add_lantern(d, SceneBuilder::inside(at, 1.4f, 0.1f, -1.8f), 0.8f, {1, 0.7f, 0.4f});
        d.feature(fmt::format("{} tents", accent.name));
        break;
    }
  }

  void scatter() {
    for (int i = 0; i < 260 && placed_ < 46; ++i) {
      const double angle = d.random.uniform(0, 2 * kPi);
      const float reach = 29 * std::sqrt(static_cast<float>(d.random.uniform()));
      const Place at = polar(angle, reach, d.uniform(0, 360));
      if (!d.claim(at.x, at.z, 1.2f)) continue;
      ++placed_;
      if (d.random.chance(0.45)) {
        add_cactus(d, at, d.uniform(1.6, 3.4));
      } else {
        add_rock(d, at, d.uniform(0.4, 1.2), colour(sand_.rock));
      }
    }
  }

  void distance() {
    const int32_t dune =
        d.topped(d.material(kSand, 8, colour(sand_.sand), colour(sand_.sand2), colour(sand_.sand)));
    const int32_t layers =
        d.material(kStrata, 14, colour(sand_.rock), colour(sand_.rock2), colour(sand_.rock) * 0.7f);
    for (int i = 0; i < 12; ++i) {
      const double angle = 2 * kPi * (i + d.random.uniform(-0.3, 0.3)) / 12;
      if (i % 3 == 0) {
        const float radius = d.uniform(6, 11), height = d.uniform(9, 17);
        d.build.frustum(polar(angle, d.uniform(48, 62)), radius, 0.8f * radius, height,
                        d.faces(layers));
      } else {
        const float radius = d.uniform(9, 15);
        const Place at = polar(angle, d.uniform(38, 44), d.uniform(0, 180));
        d.build.ellipsoid({at.x, -2.4f, at.z, at.rotation}, radius, d.uniform(2.8, 4.2),
                          0.6f * radius, dune);
      }
    }
  }

  Draft& d;
  const Sand& sand_;
  int placed_ = 0;
};

}  // namespace

void build_desert(Draft& draft) { Desert(draft).build(); }

}  // namespace loci::world
