// SPDX-License-Identifier: Apache-2.0
// A forest: winding paths between clearings, each with its own landmark.
#include <array>

#include "loci/world/scene/parts.h"
#include "loci/world/scene/patterns.h"
#include "loci/world/scene/styles.h"

namespace loci::world {

namespace {

struct Season {
  uint32_t ground, ground2, path;
  std::array<uint32_t, 4> leaves;
  uint32_t needles;
};

constexpr std::array<Season, 4> kSeasons = {{
    {0x6f9a44, 0x88ab4e, 0xb39268, {0x4f8f3a, 0x6fa83e, 0x3e7a44, 0x8cb648}, 0x2c6a46},
    {0xa98a4a, 0xb8763a, 0xc7a878, {0xd8782a, 0xe2a832, 0xb84430, 0x9a9a3a}, 0x3a6a44},
    {0x7fae5c, 0x98b96a, 0xc2a07a, {0xe58fb0, 0xf2b8c8, 0x7ab04c, 0xe8e0a0}, 0x3f8a5c},
    {0x4f8a6a, 0x5f9a7a, 0x9a8a78, {0x2f9a7a, 0x48b08c, 0x6a8ad0, 0x3c8060}, 0x1f6a6a},
}};

class Forest {
 public:
  explicit Forest(Draft& draft) : d(draft), season_(d.pick(kSeasons)) {}

  void build() {
    const bool snow = d.mood.snow();
    d.ground.base = colour(snow ? 0xeff4f9 : season_.ground);
    d.ground.second = colour(snow ? 0xe0e9f2 : season_.ground2);
    d.ground.patch = 6;
    d.geometry.meadow = {snow ? kSnow : kGrass, 4, {}, {0.12f, 0, 0}, {-0.2f, 0, 0}};
    d.geometry.path = {snow ? kSnow : kSand, 4, {}, {-0.08f, 0, 0}, {0, 0, 0}};
    clearings();
    landmarks();
    trees();
    d.trajectory_radius = 23;
  }

 private:
  // Clearings on a ring and one in the middle, joined by paths.
  void clearings() {
    const int count = 5;
    const double start = d.random.uniform(0, 2 * kPi);
    centres_.push_back({0, 0, 0, 0});
    for (int i = 0; i < count; ++i) {
      const double angle = start + 2 * kPi * (i + d.random.uniform(-0.2, 0.2)) / count;
      const float reach = d.uniform(14, 19);
      centres_.push_back({reach * static_cast<float>(exact_sin(angle)), 0,
                          reach * static_cast<float>(exact_cos(angle)), 0});
    }
    for (int i = 1; i <= count; ++i) {
      path(centres_[0], centres_[static_cast<size_t>(i)]);
      path(centres_[static_cast<size_t>(i)], centres_[static_cast<size_t>(i % count + 1)]);
    }
  }

  void path(const Place& a, const Place& b) {
    const Float3 earth = colour(d.mood.snow() ? 0xcdd6e0 : season_.path);
    // A bend in the middle of the path.
    const float mx = 0.5f * (a.x + b.x) + d.uniform(-3, 3),
                mz = 0.5f * (a.z + b.z) + d.uniform(-3, 3);
    Place last = a;
    for (int i = 1; i <= 6; ++i) {
      const float t = static_cast<float>(i) / 6, s = 1 - t;
      const Place next{s * s * a.x + 2 * s * t * mx + t * t * b.x, 0,
                       s * s * a.z + 2 * s * t * mz + t * t * b.z, 0};
      d.ground.strokes.push_back({last.x, last.z, next.x, next.z, 0.95f, earth, 1, 0.7f});
      d.reserve(next.x, next.z, 1.7f);
      d.reserve(0.5f * (next.x + last.x), 0.5f * (next.z + last.z), 1.7f);
      const float rotation =
          static_cast<float>(exact_atan2(next.x - last.x, next.z - last.z) * (180 / kPi));
      if (i == 2 || i == 5)
        d.viewpoints.push_back({last.x, 0, last.z, rotation + (i == 5 ? 180.0f : 0.0f)});
      last = next;
    }
  }

  void landmarks() {
    std::array<int, 8> kinds = {0, 1, 2, 3, 4, 5, 6, 7};
    for (size_t i = kinds.size(); i > 1; --i) std::swap(kinds[i - 1], kinds[d.random.below(i)]);
    for (size_t i = 0; i < centres_.size(); ++i) {
      Place at = centres_[i];
      at.rotation = d.uniform(0, 360);
      d.ground.strokes.push_back(
          {at.x, at.z, at.x, at.z, 3.6f,
           mix(d.ground.base, colour(d.mood.snow() ? 0xcdd6e0 : season_.path), 0.55f), 0.4f, 1.2f});
      d.reserve(at.x, at.z, 4.6f);
      landmark(kinds[i], at);
      if (d.mood.lamps() > 0) {
        const Place lamp = SceneBuilder::inside({at.x, 0, at.z, d.uniform(0, 360)}, 0, 0, 4.1f);
        add_lamp_post(d, {lamp.x, 0, lamp.z, 0});
      }
    }
  }

  void landmark(int kind, const Place& at) {
    const NamedColour accent = d.take_accent();
    const Float3 tint = colour(accent.rgb);
    switch (kind) {
      case 0: {
        HouseLook look;
        look.wall = tint;
        look.trim = colour(0xf4ead6);
        look.roof = colour(0x6a3f34);
        add_house(d, at, 4.8f, 4.2f, 1, look);
        add_lamp_post(d, SceneBuilder::inside(at, 1.9f, 0, -3.6f));
        d.feature(fmt::format("a {} cabin", accent.name));
        break;
      }
      case 1:
        add_mushroom(d, at, 3.4f, tint);
        add_mushroom(d, SceneBuilder::inside(at, 2.1f, 0, 0.8f), 1.6f, tint);
        add_mushroom(d, SceneBuilder::inside(at, -1.5f, 0, 1.6f), 1.0f, tint);
        d.feature(fmt::format("giant {} mushrooms", accent.name));
        break;
      case 2:
        for (int i = 0; i < 6; ++i) {
          const Place stone =
              SceneBuilder::inside({at.x, 0, at.z, 60.0f * static_cast<float>(i)}, 0, 0, 2.6f);
          d.build.box(stone, 0.95f, d.uniform(1.8, 2.9), 0.5f,
                      d.faces(d.matte(kRock, 2.2f, colour(0x9a9aa4), 0.22f)));
        }
        d.build.sphere({at.x, 0, at.z, 0}, 0.7f, d.matte(kPlain, 2, tint));
        d.feature("a ring of standing stones");
        break;
      case 3:
        add_pond(d, at, 3.0f, d.mood.dark() ? colour(0x123048) : colour(0x2c7a98));
        for (int i = 0; i < 5; ++i) {
          const Place edge = SceneBuilder::inside(
              {at.x, 0, at.z, 72.0f * static_cast<float>(i) + d.uniform(-20, 20)}, 0, 0, 3.3f);
          add_rock(d, edge, d.uniform(0.35, 0.7), colour(0x8a8a88));
        }
        d.feature("a pond");
        break;
      case 4:
        add_tower(d, at, 1.5f, 7.5f, tint, colour(0x5a4668), 0, true);
        d.feature(fmt::format("a {} watchtower", accent.name));
        break;
      case 5:
        add_round_tree(d, at, 9,
                       mix(tint, colour(0xd05a7a),
                           accent.name == "black" || accent.name == "white" ? 0.8f : 0.0f));
        add_bench(d, SceneBuilder::inside(at, 0, 0, -1.8f), colour(0x9a6a3c));
        d.feature("a huge old tree");
        break;
      case 6:
        add_gate(d, at, 2.2f, 3.0f, colour(0xb4a898));
        add_lantern(d, SceneBuilder::inside(at, 0, 2.5f, 0), 0.9f, {1, 0.9f, 0.8f});
        d.feature("a stone gate");
        break;
      default:
        for (int i = 0; i < 3; ++i) {
          const Place tent =
              SceneBuilder::inside({at.x, 0, at.z, 120.0f * static_cast<float>(i)}, 0, 0, 2.2f, 90);
          d.build.gable(tent, 2.0f, 1.7f, 2.4f, 0,
                        d.topped(d.material(kStripes, 1.6f, tint, colour(0xf4ecd8), tint)),
                        d.matte(kPlain, 2, tint));
        }
        d.build.cone({at.x, 0, at.z, 0}, 0.5f, 0.7f, d.shining({2.6f, 1.2f, 0.3f}));
        d.build.lamp({at.x, 0.9f, at.z}, {2.2f, 1.1f, 0.35f}, 7);
        d.feature(fmt::format("{} tents around a fire", accent.name));
        break;
    }
  }

  void trees() {
    const double conifers = d.random.uniform(0.2, 0.9);
    for (int i = 0; i < 700 && planted_ < 95; ++i) {
      const double angle = d.random.uniform(0, 2 * kPi), reach = 31 * std::sqrt(d.random.uniform());
      const float x = static_cast<float>(reach * exact_sin(angle)),
                  z = static_cast<float>(reach * exact_cos(angle));
      const float height = d.uniform(5, 9.5);
      if (!d.claim(x, z, 0.16f * height)) continue;
      ++planted_;
      const Place at{x, 0, z, d.uniform(0, 360)};
      const double kind = d.random.uniform();
      if (kind < 0.08) {
        add_rock(d, at, d.uniform(0.6, 1.3), colour(0x8f8c86));
      } else if (kind < 0.16) {
        add_bush(d, at, d.uniform(0.6, 1.0), colour(season_.leaves[1]));
      } else if (d.random.chance(conifers)) {
        add_conifer(d, at, height, colour(season_.needles) * d.uniform(0.85, 1.2));
      } else {
        add_round_tree(d, at, height * 0.85f, colour(d.pick(season_.leaves)));
      }
    }
    // Dense trees around the forest limit the view.
    for (int i = 0; i < 36; ++i) {
      const double angle = 2 * kPi * (i + d.random.uniform(-0.3, 0.3)) / 36;
      const float reach = d.uniform(33, 39);
      add_conifer(d,
                  {reach * static_cast<float>(exact_sin(angle)), 0,
                   reach * static_cast<float>(exact_cos(angle)), 0},
                  d.uniform(8, 12), colour(season_.needles));
    }
  }

  Draft& d;
  const Season& season_;
  std::vector<Place> centres_;
  int planted_ = 0;
};

}  // namespace

void build_forest(Draft& draft) { Forest(draft).build(); }

}  // namespace loci::world
