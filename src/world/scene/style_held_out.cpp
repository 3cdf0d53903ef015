// SPDX-License-Identifier: Apache-2.0
// Held out from training: a ruined temple in a meadow, and a formal garden of hedges.
#include <array>

#include "loci/world/scene/parts.h"
#include "loci/world/scene/patterns.h"
#include "loci/world/scene/styles.h"

namespace loci::world {

namespace {

Place polar(double angle, float reach, float rotation = 0) {
  return {reach * static_cast<float>(exact_sin(angle)), 0,
          reach * static_cast<float>(exact_cos(angle)), rotation};
}

void broken_wall(Draft& d, const Place& at, float length, const Float3& stone) {
  const int32_t block = d.matte(kAshlar, 1.8f, stone, 0.2f);
  float x = -0.5f * length;
  while (x < 0.5f * length) {
    const float piece = d.uniform(1.0, 2.0);
    d.build.box(SceneBuilder::inside(at, x + 0.5f * piece, 0, 0), piece, d.uniform(0.7, 3.4), 0.7f,
                d.faces(block));
    x += piece;
  }
}

}  // namespace

void build_ruins(Draft& d) {
  const bool snow = d.mood.snow();
  d.ground.base = colour(snow ? 0xeef3f8 : 0x86a050);
  d.ground.second = colour(snow ? 0xdfe8f0 : 0xb09a5c);
  d.geometry.meadow = {snow ? kSnow : kGrass, 4, {}, {0.12f, 0, 0}, {-0.18f, 0, 0}};
  d.geometry.path = {kTiles, 4, {}, {-0.12f, 0, 0}, {-0.3f, 0, 0}};
  const Float3 stone = colour(d.pick(std::to_array<uint32_t>({0xe2d3b4, 0xc9c2b8, 0xd8b090})));
  const Float3 floor = snow ? colour(0xccd4dc) : stone * 0.8f;
  d.ground.strokes.push_back({-7, -10, 7, 10, -1, floor, 1, 0.3f});
  for (int i = 0; i < 6; ++i) {
    for (const float side : {-1.0f, 1.0f}) {
      const Place at{side * 5.2f, 0, -8.5f + 3.4f * static_cast<float>(i), 0};
      const double fate = d.random.uniform();
      if (fate < 0.6) {
        add_column(d, at, 0.55f, 5.2f, stone);
      } else if (fate < 0.85) {
        d.build.cylinder(at, 0.55f, d.uniform(1, 3), d.faces(d.matte(kAshlar, 1.6f, stone)));
      } else {
        d.build.box({at.x + side, 0, at.z, d.uniform(0, 90)}, 1.0f, 0.9f, 2.6f,
                    d.faces(d.matte(kAshlar, 1.6f, stone)));
      }
    }
  }
  const NamedColour altar = d.take_accent(), tower = d.take_accent(), arch = d.take_accent();
  add_statue(d, {0, 0, 7.5f, 180}, 4.2f, colour(altar.rgb));
  d.feature(fmt::format("a {} statue", altar.name));
  d.feature("broken columns");
  const double start = d.random.uniform(0, 2 * kPi);
  add_tower(d, polar(start, 18), 2.2f, 8, mix(stone, colour(tower.rgb), 0.7f), stone, 3, true);
  d.feature(fmt::format("a {} round tower", tower.name));
  add_gate(d, polar(start + 1.6, 16, static_cast<float>((start + 1.6) * 180 / kPi)), 2.6f, 3.6f,
           mix(stone, colour(arch.rgb), 0.6f));
  d.feature(fmt::format("a {} gate", arch.name));
  add_pond(d, polar(start + 3.1, 15), 3.2f, d.mood.dark() ? colour(0x123048) : colour(0x2c7a98));
  broken_wall(d, polar(start + 4.4, 15, static_cast<float>((start + 4.4) * 180 / kPi)), 9, stone);
  broken_wall(d, polar(start + 5.4, 19, static_cast<float>((start + 5.4) * 180 / kPi)), 7, stone);
  for (int i = 0; i < 30; ++i) {
    const Place at = polar(d.random.uniform(0, 2 * kPi), d.uniform(13, 32), d.uniform(0, 360));
    if (!d.claim(at.x, at.z, 1.6f)) continue;
    if (i % 3 == 0) add_rock(d, at, d.uniform(0.5, 1.1), stone * 0.8f);
    if (i % 3 == 1) add_round_tree(d, at, d.uniform(4, 7), colour(0x6f9a44));
    if (i % 3 == 2) add_conifer(d, at, d.uniform(5, 8), colour(0x2f6f4a));
  }
  for (int i = 0; i < 6; ++i) {
    d.viewpoints.push_back(polar(i * kPi / 3, 11.5f, 60.0f * static_cast<float>(i) + 180));
    d.viewpoints.push_back(
        {0, 0, -7 + 2.0f * static_cast<float>(i), 60.0f * static_cast<float>(i)});
  }
  d.trajectory_radius = 22;
}

void build_garden(Draft& d) {
  const bool snow = d.mood.snow();
  d.ground.base = colour(snow ? 0xeef3f8 : 0x76a64c);
  d.ground.second = colour(snow ? 0xe2eaf2 : 0x86b254);
  d.geometry.meadow = {snow ? kSnow : kGrass, 4, {}, {0.08f, 0, 0}, {-0.12f, 0, 0}};
  d.geometry.path = {kSand, 3, {}, {-0.06f, 0, 0}, {0, 0, 0}};
  const Float3 gravel = snow ? colour(0xd0d6de) : colour(0xe2cda4);
  const Float3 leaf = colour(0x3f8042);
  const int32_t hedge = d.material(kLeaves, 1.6f, leaf, leaf * 1.3f, leaf * 0.6f);
  for (const float r : {5.5f, 12.5f, 19.5f}) {
    Place last = polar(0, r);
    for (int i = 1; i <= 24; ++i) {
      const Place next = polar(2 * kPi * i / 24, r);
      d.ground.strokes.push_back({last.x, last.z, next.x, next.z, 1.3f, gravel, 1, 0.15f});
      last = next;
    }
  }
  for (int i = 0; i < 4; ++i) {
    const Place out = polar(i * kPi / 2, 21);
    d.ground.strokes.push_back({0, 0, out.x, out.z, 1.3f, gravel, 1, 0.15f});
  }
  add_fountain(d, {0, 0, 0, 0}, 2.4f, colour(0xe0d6c2));
  d.feature("a fountain");
  // Hedges in rings with gaps at the paths and halfway between them.
  for (const float r : {9.0f, 16.0f}) {
    const int pieces = r > 10 ? 32 : 20;
    for (int i = 0; i < pieces; ++i) {
      const double angle = 2 * kPi * (i + 0.5) / pieces;
      const double quarter = angle / (kPi / 2), off = std::abs(quarter - std::floor(quarter + 0.5));
      if (off < (r > 10 ? 0.1 : 0.16) || d.random.chance(0.08)) continue;
      d.build.box(polar(angle, r, static_cast<float>(angle * 180 / kPi)),
                  static_cast<float>(2 * kPi) * r / static_cast<float>(pieces) + 0.05f, 1.15f, 0.8f,
                  d.faces(hedge));
    }
  }
  for (int i = 0; i < 8; ++i) {
    const double angle = (i + 0.5) * kPi / 4;
    const NamedColour accent = d.take_accent();
    const Place at = polar(angle, i % 2 ? 7.2f : 14.2f, static_cast<float>(angle * 180 / kPi));
    if (i % 4 == 0) {
      add_statue(d, at, 3, colour(accent.rgb));
      d.feature(fmt::format("a {} statue", accent.name));
    } else if (i % 4 == 1) {
      d.build.cone(at, 0.9f, 2.6f, hedge);
      add_bush(d, SceneBuilder::inside(at, 1.6f, 0, 0), 0.6f, colour(accent.rgb));
    } else if (i % 4 == 2) {
      add_round_tree(d, at, 5, accent.name == "black" ? colour(0xe58fb0) : colour(accent.rgb));
      d.feature(fmt::format("{} trees", accent.name == "black" ? "pink" : accent.name));
    } else {
      d.build.sphere({at.x, -0.1f, at.z, 0}, 0.9f, d.topped(hedge));
    }
  }
  const NamedColour pavilion = d.take_accent();
  const Place end = polar(0, 23.5f, 180);
  for (int i = 0; i < 6; ++i) {
    add_column(d,
               SceneBuilder::inside({end.x, 0, end.z, 60.0f * static_cast<float>(i)}, 0, 0, 2.3f),
               0.22f, 3.2f, colour(0xf2ece0));
  }
  d.build.cone({end.x, 3.2f, end.z, 0}, 3.1f, 2.2f,
               d.topped(d.matte(kRoofTiles, 2.6f, colour(pavilion.rgb), 0.3f)));
  d.feature(fmt::format("a pavilion with a {} roof", pavilion.name));
  for (int i = 0; i < 28; ++i) {
    add_round_tree(d, polar(2 * kPi * (i + d.random.uniform(-0.3, 0.3)) / 28, d.uniform(27, 35)),
                   d.uniform(5, 8), leaf * d.uniform(0.9, 1.3));
  }
  for (int i = 0; i < 8; ++i) {
    const double angle = i * kPi / 4;
    d.viewpoints.push_back(polar(angle + 0.2, 5.5f, static_cast<float>(angle * 180 / kPi)));
    d.viewpoints.push_back(polar(angle + 0.1, 12.5f, static_cast<float>(angle * 180 / kPi) + 180));
  }
  d.trajectory_radius = 23;
}

}  // namespace loci::world
