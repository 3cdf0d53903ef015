// SPDX-License-Identifier: Apache-2.0
#include "loci/world/scene/plaza_parts.h"

#include "loci/world/scene/patterns.h"

namespace loci::world::plaza {

namespace {

using Builder = SceneBuilder;

constexpr float kDepth = 4;  // of houses

int32_t plain(Draft& d, const Float3& base) { return d.material(kPlain, 16, base, base, base); }
int32_t plain(Draft& d, uint32_t rgb) { return plain(d, colour(rgb)); }

// A flat panel on a wall: a box that protrudes by `out`, whose lower edge is at height y.
void panel(Draft& d, const Place& front, float x, float y, float width, float height, float out,
           int32_t material) {
  d.build.box(Builder::inside(front, x, y, 0), width, height, 2 * out, material);
}

// A flat round panel on a wall with its centre at height y.
void disc(Draft& d, const Place& front, float x, float y, float radius, float out,
          int32_t material) {
  d.build.disc(Builder::inside(front, x, y - radius, 0), radius, 2 * out, material);
}

// A panel that ends in a half circle. `height` includes it.
void arch(Draft& d, const Place& front, float x, float y, float width, float height, float out,
          int32_t material) {
  d.build.arch(Builder::inside(front, x, y, 0), width, height, 2 * out, material);
}

void window(Draft& d, const Place& front, float x, float y, bool arched, int32_t frame,
            int32_t glass, int32_t shutter) {
  const float width = 0.8f, height = 1.15f, rim = 0.14f;
  if (arched) {
    arch(d, front, x, y - rim, width + 2 * rim, height + 2 * rim, 0.06f, frame);
    arch(d, front, x, y, width, height, 0.12f, glass);
  } else {
    panel(d, front, x, y - rim, width + 2 * rim, height + 2 * rim, 0.06f, frame);
    panel(d, front, x, y, width, height, 0.09f, glass);
  }
  if (shutter < 0) return;
  for (const float side : {-1.0f, 1.0f}) {
    panel(d, front, x + side * (0.5f * width + rim + 0.2f), y - 0.05f, 0.4f, height + 0.1f, 0.08f,
          shutter);
  }
}

void door(Draft& d, const Place& front, float x, float width, float height, bool arched,
          int32_t frame, int32_t leaf) {
  if (arched) {
    arch(d, front, x, 0, width + 0.4f, height + 0.2f, 0.1f, frame);
    arch(d, front, x, 0, width, height, 0.2f, leaf);
  } else {
    panel(d, front, x, 0, width + 0.4f, height + 0.2f, 0.1f, frame);
    panel(d, front, x, 0, width, height, 0.15f, leaf);
  }
}

void tower_body(Draft& d, const Place& front, float width, float height, float out, uint32_t wall) {
  const int32_t body = plain(d, wall), trim = plain(d, kTrim);
  const float depth = width + out;
  const Place middle = Builder::inside(front, 0, 0, 0.5f * depth - out);
  d.build.box(middle, width, height, depth, body);
  d.build.box(middle, width + 0.14f, 0.45f, depth + 0.14f, plain(d, colour(wall) * 0.72f));
  d.build.box(Builder::inside(middle, 0, height, 0), width + 0.35f, 0.3f, depth + 0.35f, trim);
}

}  // namespace

void add_row_house(Draft& d, const Place& front, const House& h) {
  const int32_t wall = plain(d, h.wall), roof = plain(d, h.roof), trim = plain(d, kTrim);
  const int32_t plinth = plain(d, colour(h.wall) * 0.72f);
  const float full = h.width + h.left + h.right;
  const Place body = Builder::inside(front, 0.5f * (h.right - h.left), 0, 0.5f * kDepth);
  d.build.box(body, full, h.height, kDepth, wall);
  d.build.box(body, full, 0.4f, kDepth + 0.12f, plinth);
  const Place top = Builder::inside(body, 0, h.height, 0);
  switch (h.shape) {
    case Roof::kEaves:
      d.build.gable(Builder::inside(top, 0, 0, 0, 90), kDepth, 1.9f, full, 0.3f, roof, wall);
      break;
    case Roof::kGable:
      d.build.gable(top, full, 0.42f * full + 0.3f, kDepth, 0.25f, roof, wall);
      // The wall below the overhanging roof.
      d.build.gable(Builder::inside(top, 0, -0.12f, -0.29f), full - 0.3f, 0.42f * full + 0.1f,
                    kDepth, 0, wall, wall);
      break;
    case Roof::kHip:
      d.build.pyramid(top, full + 0.6f, 1.9f, kDepth + 0.6f, 0.3f, roof);
      break;
    case Roof::kFlat:
      d.build.box(top, full + 0.2f, 0.4f, kDepth + 0.3f, trim);
      break;
    case Roof::kDome:
      d.build.box(top, full + 0.2f, 0.4f, kDepth + 0.3f, trim);
      d.build.sphere(Builder::inside(top, 0, 0.4f - 0.36f * full, 0), 0.4f * full, roof);
      break;
  }
  // One column of windows per 1.9 m; the door takes the place of a window.
  const int32_t glass = plain(d, kGlass);
  const int32_t shutter = h.shutters ? plain(d, h.door) : -1;
  const int columns = std::max(1, static_cast<int>(h.width / (h.shutters ? 2.1f : 1.75f)));
  const float pitch = h.width / static_cast<float>(columns);
  const int floors = h.height > 4.4f ? 2 : 1;
  const int door_at = h.with_door ? static_cast<int>(d.random.below(columns)) : -1;
  for (int column = 0; column < columns; ++column) {
    const float x = (static_cast<float>(column) + 0.5f) * pitch - 0.5f * h.width;
    if (column == door_at) {
      door(d, front, x, 1.0f, 2.05f, h.arched, trim, plain(d, h.door));
    } else {
      window(d, front, x, 1.05f, h.arched, trim, glass, shutter);
    }
    if (floors > 1) window(d, front, x, 3.15f, h.arched, trim, glass, shutter);
  }
}

void add_gate_tower(Draft& d, const Place& front, float width, uint32_t wall, uint32_t roof) {
  const float height = 5.6f;
  tower_body(d, front, width, height, 0.5f, wall);
  const Place face = Builder::inside(front, 0, 0, -0.5f);
  door(d, face, 0, 2.0f, 3.2f, true, plain(d, kTrim), plain(d, kWood));
  disc(d, face, 0, 4.5f, 0.5f, 0.12f, plain(d, kTrim));
  disc(d, face, 0, 4.5f, 0.36f, 0.25f, plain(d, kGlass));
  d.build.pyramid(Builder::inside(front, 0, height + 0.3f, 0.5f * width - 0.25f), width + 0.9f,
                  2.6f, width + 1.4f, 0, plain(d, roof));
}

void add_bell_tower(Draft& d, const Place& front, float width, uint32_t wall, uint32_t roof) {
  const float height = 7.2f;
  tower_body(d, front, width, height, 0.3f, wall);
  const Place face = Builder::inside(front, 0, 0, -0.3f);
  door(d, face, 0, 0.9f, 2.1f, true, plain(d, kTrim), plain(d, roof));
  arch(d, face, 0, 4.9f, 1.3f, 1.9f, 0.1f, plain(d, kTrim));
  arch(d, face, 0, 5.0f, 1.0f, 1.65f, 0.2f, plain(d, kDark));
  d.build.sphere(Builder::inside(face, 0, 5.25f, -0.05f), 0.34f, plain(d, kGold));
  d.build.pyramid(Builder::inside(front, 0, height + 0.3f, 0.5f * width - 0.15f), width + 0.6f,
                  3.0f, width + 0.9f, 0, plain(d, roof));
}

void add_clock_house(Draft& d, const Place& front, float width, uint32_t wall, uint32_t roof) {
  House house;
  house.width = width;
  house.height = 4.9f;
  house.wall = wall;
  house.roof = roof;
  house.door = roof;
  house.arched = true;
  house.shape = Roof::kEaves;
  add_row_house(d, front, house);
  // A dormer with the clock.
  const Place dormer = Builder::inside(front, 0, 4.9f, 0);
  d.build.box(Builder::inside(dormer, 0, 0, 0.9f), 2.2f, 1.5f, 2.0f, plain(d, wall));
  d.build.gable(Builder::inside(dormer, 0, 1.5f, 0.9f), 2.2f, 1.3f, 2.0f, 0.2f, plain(d, roof),
                plain(d, roof));
  const Place face = Builder::inside(dormer, 0, 0, -0.1f);
  disc(d, face, 0, 0.85f, 0.8f, 0.1f, plain(d, kGold));
  disc(d, face, 0, 0.85f, 0.64f, 0.2f, plain(d, kTrim));
  panel(d, face, 0, 0.8f, 0.1f, 0.48f, 0.24f, plain(d, kDark));
  panel(d, face, 0.14f, 0.8f, 0.36f, 0.1f, 0.24f, plain(d, kDark));
}

void add_chapel(Draft& d, const Place& front, float width, uint32_t wall, uint32_t dome) {
  const int32_t body = plain(d, wall), trim = plain(d, kTrim);
  const float height = 4.2f, radius = 0.4f * width;
  const Place middle = Builder::inside(front, 0, 0, 0.5f * kDepth);
  d.build.box(middle, width, height, kDepth, body);
  d.build.box(middle, width, 0.4f, kDepth + 0.12f, plain(d, colour(wall) * 0.72f));
  d.build.box(Builder::inside(middle, 0, height, 0), width + 0.2f, 0.35f, kDepth + 0.3f, trim);
  const Place drum = Builder::inside(middle, 0, height + 0.35f, 0);
  d.build.cylinder(drum, radius, 0.7f, body);
  d.build.cylinder(Builder::inside(drum, 0, 0.7f, 0), radius + 0.12f, 0.2f, trim);
  d.build.ellipsoid(Builder::inside(drum, 0, 0.9f - radius, 0), radius, radius, radius,
                    plain(d, dome));
  d.build.cone(Builder::inside(drum, 0, 0.85f + radius, 0), 0.22f, 0.9f, plain(d, kGold));
  door(d, front, 0, 1.3f, 2.5f, true, trim, plain(d, dome));
  for (const float side : {-1.0f, 1.0f})
    window(d, front, side * 0.32f * width, 1.5f, true, trim, plain(d, kGlass), -1);
}

void add_arcade(Draft& d, const Place& front, float width, uint32_t wall, uint32_t inside) {
  const int32_t body = plain(d, wall), trim = plain(d, kTrim), shade = plain(d, inside);
  const float height = 3.6f;
  const Place middle = Builder::inside(front, 0, 0, 0.5f * kDepth);
  d.build.box(middle, width, height, kDepth, body);
  d.build.box(Builder::inside(middle, 0, height, 0), width + 0.2f, 0.4f, kDepth + 0.3f, trim);
  // The arches are panels, not openings: nothing is hidden behind columns.
  const int arches = std::max(2, static_cast<int>(width / 1.75f));
  const float pitch = width / static_cast<float>(arches);
  for (int i = 0; i < arches; ++i) {
    const float x = (static_cast<float>(i) + 0.5f) * pitch - 0.5f * width;
    arch(d, front, x, 0, pitch - 0.28f, 2.85f, 0.06f, trim);
    arch(d, front, x, 0, pitch - 0.6f, 2.65f, 0.12f, shade);
  }
}

void add_cypress(Draft& d, const Place& at, float height, uint32_t leaf) {
  d.build.cylinder(at, 0.12f, 0.6f, plain(d, kWood));
  d.build.ellipsoid(Builder::inside(at, 0, 0.3f, 0), 0.2f * height, 0.5f * (height - 0.3f),
                    0.2f * height, plain(d, leaf));
}

void add_garden_wall(Draft& d, const Place& front, float width, uint32_t wall, uint32_t leaf) {
  const Place middle = Builder::inside(front, 0, 0, 0.3f);
  d.build.box(middle, width, 2.3f, 0.6f, plain(d, wall));
  d.build.box(Builder::inside(middle, 0, 2.3f, 0), width, 0.25f, 0.9f, plain(d, kTrim));
  const int trees = std::max(2, static_cast<int>(width / 1.7f));
  const float pitch = width / static_cast<float>(trees);
  for (int i = 0; i < trees; ++i) {
    const float x = (static_cast<float>(i) + 0.5f) * pitch - 0.5f * width;
    const Place at = Builder::inside(front, x, 0, 1.9f);
    if (leaf == kHedge) {
      add_cypress(d, at, i % 2 == 0 ? 5.4f : 4.6f, leaf);
    } else {
      d.build.cylinder(at, 0.16f, 2.4f, plain(d, kWood));
      d.build.sphere(Builder::inside(at, 0, 2.1f, 0), i % 2 == 0 ? 1.25f : 1.05f, plain(d, leaf));
    }
  }
}

void add_round_tower(Draft& d, const Place& at, float height, uint32_t wall, uint32_t roof) {
  const float radius = 1.6f;
  d.build.cylinder(at, radius + 0.1f, 0.45f, plain(d, colour(wall) * 0.72f));
  d.build.cylinder(at, radius, height, plain(d, wall));
  d.build.cylinder(Builder::inside(at, 0, height, 0), radius + 0.2f, 0.3f, plain(d, kTrim));
  d.build.cone(Builder::inside(at, 0, height + 0.3f, 0), radius + 0.45f, 2.8f, plain(d, roof));
  const Place face = Builder::inside(at, 0, 0, -radius);
  window(d, face, 0, 1.3f, true, plain(d, kTrim), plain(d, kGlass), -1);
  window(d, face, 0, height - 1.9f, true, plain(d, kTrim), plain(d, kGlass), -1);
}

void add_basin_fountain(Draft& d, const Place& at, uint32_t stone) {
  const int32_t rim = plain(d, stone), water = plain(d, kWater), light = plain(d, kTrim);
  d.build.cylinder(at, 1.3f, 0.45f, rim);
  d.build.cylinder(Builder::inside(at, 0, 0.4f, 0), 1.1f, 0.08f, water);
  d.build.frustum(Builder::inside(at, 0, 0.4f, 0), 0.28f, 0.16f, 0.8f, light);
  d.build.frustum(Builder::inside(at, 0, 1.1f, 0), 0.16f, 0.68f, 0.26f, Faces{rim, water});
  d.build.frustum(Builder::inside(at, 0, 1.3f, 0), 0.15f, 0.09f, 0.45f, light);
  d.build.sphere(Builder::inside(at, 0, 1.66f, 0), 0.2f, plain(d, kGold));
}

void add_planted_tree(Draft& d, const Place& at, float size, uint32_t leaf, uint32_t rim) {
  const int32_t crown = plain(d, leaf);
  d.build.cylinder(at, 0.8f * size, 0.4f, plain(d, rim));
  d.build.cylinder(Builder::inside(at, 0, 0.35f, 0), 0.66f * size, 0.1f, plain(d, kHedge));
  const float trunk = 0.4f + 1.15f * size;
  d.build.frustum(Builder::inside(at, 0, 0.4f, 0), 0.17f * size, 0.12f * size, trunk,
                  plain(d, kWood));
  d.build.sphere(Builder::inside(at, 0, trunk, 0), 0.95f * size, crown);
  d.build.sphere(Builder::inside(at, 0.42f * size, trunk + 0.8f * size, 0.28f * size),
                 0.66f * size, crown);
}

void add_well(Draft& d, const Place& at, uint32_t stone, uint32_t roof) {
  d.build.cylinder(at, 0.85f, 0.75f, plain(d, stone));
  d.build.cylinder(Builder::inside(at, 0, 0.71f, 0), 0.64f, 0.06f, plain(d, kDark));
  for (const float x : {-0.72f, 0.72f})
    d.build.box(Builder::inside(at, x, 0.65f, 0), 0.18f, 1.2f, 0.18f, plain(d, kWood));
  d.build.gable(Builder::inside(at, 0, 1.8f, 0, 90), 1.3f, 0.8f, 1.7f, 0.15f, plain(d, roof),
                plain(d, roof));
}

void add_needle(Draft& d, const Place& at, uint32_t stone) {
  d.build.box(at, 1.5f, 0.35f, 1.5f, plain(d, kTrim));
  d.build.box(Builder::inside(at, 0, 0.35f, 0), 1.0f, 0.4f, 1.0f, plain(d, kStone));
  d.build.pyramid(Builder::inside(at, 0, 0.75f, 0), 0.62f, 2.3f, 0.62f, 0.55f, plain(d, stone));
  d.build.pyramid(Builder::inside(at, 0, 3.05f, 0), 0.34f, 0.36f, 0.34f, 0, plain(d, kGold));
}

void add_sculpture(Draft& d, const Place& at, uint32_t body) {
  d.build.box(at, 1.2f, 0.6f, 1.2f, plain(d, kTrim));
  d.build.sphere(Builder::inside(at, 0, 0.56f, 0), 0.56f, plain(d, body));
  d.build.sphere(Builder::inside(at, 0, 1.58f, 0), 0.36f, plain(d, kTrim));
  d.build.cone(Builder::inside(at, 0, 2.18f, 0), 0.3f, 0.75f, plain(d, kGold));
}

void add_awning_stall(Draft& d, const Place& at, uint32_t cloth) {
  const int32_t wood = plain(d, kWood), light = plain(d, kTrim), strong = plain(d, cloth);
  d.build.box(at, 2.3f, 0.95f, 0.9f, wood);
  d.build.box(Builder::inside(at, 0, 0.95f, 0), 2.4f, 0.1f, 1.0f, light);
  for (const float x : {-1.1f, 1.1f})
    d.build.box(Builder::inside(at, x, 0, -0.35f), 0.16f, 2.2f, 0.16f, wood);
  for (int i = 0; i < 5; ++i) {
    const float x = (static_cast<float>(i) - 2) * 0.52f;
    d.build.gable(Builder::inside(at, x, 2.1f, 0, 90), 1.6f, 0.65f, 0.52f, 0,
                  i % 2 == 0 ? strong : light, i % 2 == 0 ? strong : light);
  }
  for (const float x : {-0.65f, 0.0f, 0.65f}) {
    const uint32_t fruit = d.pick(kLeaves).rgb;
    d.build.ellipsoid(Builder::inside(at, x, 0.98f, 0), 0.27f, 0.2f, 0.27f, plain(d, fruit));
  }
}

void add_pot(Draft& d, const Place& at, uint32_t pot, uint32_t leaf) {
  d.build.frustum(at, 0.32f, 0.45f, 0.6f, plain(d, pot));
  d.build.sphere(Builder::inside(at, 0, 0.5f, 0), 0.52f, plain(d, leaf));
}

void add_block_bench(Draft& d, const Place& at, uint32_t seat) {
  const int32_t top = plain(d, seat), leg = plain(d, kTrim);
  for (const float x : {-0.65f, 0.65f})
    d.build.box(Builder::inside(at, x, 0, 0), 0.4f, 0.4f, 0.5f, leg);
  d.build.box(Builder::inside(at, 0, 0.4f, 0), 2.0f, 0.14f, 0.6f, top);
}

void add_crates(Draft& d, const Place& at, uint32_t top) {
  d.build.box(Builder::inside(at, -0.5f, 0, 0, 8), 0.9f, 0.8f, 0.8f, plain(d, kWood));
  d.build.box(Builder::inside(at, 0.5f, 0, 0, -12), 0.85f, 0.7f, 0.75f, plain(d, kStone));
  d.build.box(Builder::inside(at, -0.35f, 0.8f, 0, 25), 0.7f, 0.6f, 0.65f, plain(d, top));
}

}  // namespace loci::world::plaza
