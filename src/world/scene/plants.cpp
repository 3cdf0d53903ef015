// SPDX-License-Identifier: Apache-2.0
// The natural objects of parts.h: trees, bushes, rocks and others.
#include "loci/world/scene/parts.h"
#include "loci/world/scene/patterns.h"

namespace loci::world {

namespace {

using Builder = SceneBuilder;

int32_t bark(Draft& d, uint32_t rgb) { return d.matte(kBark, 1.2f, colour(rgb), 0.4f); }

int32_t foliage(Draft& d, const Float3& leaf) {
  return d.material(kLeaves, 2.4f, leaf, leaf * 1.35f, leaf * 0.62f);
}

}  // namespace

void add_conifer(Draft& d, const Place& at, float height, const Float3& leaf) {
  const Float3 tip = d.mood.snow() ? colour(0xeef4fa) : leaf * 1.45f;
  const int32_t needles = d.material(kNeedles, 2.0f, leaf, tip, leaf * 0.55f);
  const float trunk = 0.16f * height, radius = 0.24f * height;
  d.build.cylinder(at, 0.035f * height + 0.05f, trunk + 0.4f, bark(d, 0x6a4630));
  const int layers = height > 6 ? 3 : 2;
  float y = trunk, r = radius;
  const float span = (height - trunk) / (static_cast<float>(layers) * 0.68f + 0.32f);
  for (int i = 0; i < layers; ++i) {
    d.build.cone(Builder::inside(at, 0, y, 0), r, span, needles);
    y += 0.68f * span;
    r *= 0.76f;
  }
}

void add_round_tree(Draft& d, const Place& at, float height, const Float3& leaf) {
  const int32_t crown = foliage(d, leaf);
  const float trunk = 0.42f * height, radius = 0.3f * height;
  d.build.frustum(at, 0.045f * height + 0.06f, 0.03f * height + 0.04f, trunk + 0.3f * radius,
                  bark(d, 0x6b4b36));
  d.build.ellipsoid(Builder::inside(at, 0, trunk - 0.25f * radius, 0), radius, 0.95f * radius,
                    radius, crown);
  const int lobes = 2 + static_cast<int>(d.random.below(2));
  for (int i = 0; i < lobes; ++i) {
    const double angle = 2 * kPi * (i + d.random.uniform()) / lobes;
    const float out = 0.62f * radius, r = radius * d.uniform(0.55, 0.72);
    d.build.ellipsoid(Builder::inside(at, out * static_cast<float>(exact_cos(angle)),
                                      trunk + radius * d.uniform(-0.1, 0.35),
                                      out * static_cast<float>(exact_sin(angle))),
                      r, 0.85f * r, r, crown);
  }
  if (d.mood.snow()) {
    d.build.ellipsoid(Builder::inside(at, 0, trunk + 0.75f * radius, 0), 0.8f * radius,
                      0.5f * radius, 0.8f * radius, d.snow());
  }
}

void add_palm(Draft& d, const Place& at, float height) {
  const int32_t trunk = d.matte(kStripes, 1.2f, colour(0x9a7448), 0.3f);
  const int32_t leaf =
      d.material(kNeedles, 1.6f, colour(0x3c8f3a), colour(0x76c24a), colour(0x1f5a2a));
  d.build.frustum(at, 0.22f, 0.13f, height, trunk);
  for (int i = 0; i < 7; ++i) {
    const float rotation = 360.0f * static_cast<float>(i) / 7 + d.uniform(-12, 12);
    const Place crown = Builder::inside(at, 0, height, 0, rotation);
    d.build.ellipsoid(Builder::inside(crown, 0, -0.05f, 0.75f), 0.26f, 0.16f, 0.85f, leaf);
    d.build.ellipsoid(Builder::inside(crown, 0, -0.5f, 1.55f), 0.2f, 0.3f, 0.5f, leaf);
  }
  d.build.sphere(Builder::inside(at, 0, height - 0.35f, 0), 0.22f,
                 d.matte(kPlain, 1, colour(0x8a5a2c)));
}

void add_cactus(Draft& d, const Place& at, float height) {
  const int32_t skin =
      d.material(kStripes, 0.9f, colour(0x3f9150), colour(0x2c7040), colour(0x2c7040));
  const float r = 0.09f * height + 0.08f;
  d.build.cylinder(at, r, height - r, skin);
  d.build.sphere(Builder::inside(at, 0, height - 2 * r, 0), r, skin);
  const int arms = 1 + static_cast<int>(d.random.below(2));
  for (int i = 0; i < arms; ++i) {
    const float side = i == 0 ? 1.0f : -1.0f, y = height * d.uniform(0.35, 0.55), reach = r * 3.1f;
    d.build.box(Builder::inside(at, side * reach * 0.5f, y - 0.7f * r, 0), reach, 1.4f * r,
                1.4f * r, skin);
    d.build.cylinder(Builder::inside(at, side * reach, y - 0.6f * r, 0), 0.75f * r, 0.34f * height,
                     skin);
    d.build.sphere(Builder::inside(at, side * reach, y - 1.35f * r + 0.34f * height, 0), 0.75f * r,
                   skin);
  }
  if (d.random.chance(0.5))
    d.build.sphere(Builder::inside(at, 0, height - 0.4f * r, 0), 0.4f * r,
                   d.matte(kPlain, 1, colour(0xf0609a)));
}

void add_bush(Draft& d, const Place& at, float radius, const Float3& leaf) {
  const int32_t crown = foliage(d, leaf);
  d.build.ellipsoid(Builder::inside(at, 0, -0.3f * radius, 0), radius, 0.8f * radius, radius,
                    crown);
  d.build.ellipsoid(Builder::inside(at, 0.6f * radius, -0.25f * radius, 0.2f * radius),
                    0.65f * radius, 0.55f * radius, 0.65f * radius, d.topped(crown));
}

void add_rock(Draft& d, const Place& at, float radius, const Float3& stone) {
  const int32_t face = d.matte(kRock, 2.5f, stone, 0.25f);
  const float rotation = d.uniform(0, 360);
  d.build.ellipsoid({at.x, -0.35f * radius, at.z, rotation}, radius, 0.75f * radius, 0.8f * radius,
                    face);
  d.build.ellipsoid(Builder::inside({at.x, -0.35f * radius, at.z, rotation}, 0.5f * radius, 0,
                                    0.25f * radius, 40),
                    0.7f * radius, 0.55f * radius, 0.6f * radius, d.topped(face));
}

void add_mushroom(Draft& d, const Place& at, float height, const Float3& cap) {
  const int32_t stem = d.matte(kBark, 2, colour(0xeee2cc), 0.12f);
  const int32_t skin = d.material(kLeaves, 0.9f * height, cap, cap * 0.85f, colour(0xfff4e0));
  d.build.frustum(at, 0.16f * height, 0.11f * height, 0.72f * height, stem);
  d.build.ellipsoid(Builder::inside(at, 0, 0.52f * height, 0), 0.55f * height, 0.26f * height,
                    0.55f * height, skin);
}

}  // namespace loci::world
