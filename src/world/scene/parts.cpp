// SPDX-License-Identifier: Apache-2.0
#include "loci/world/scene/parts.h"

#include "loci/world/scene/patterns.h"

namespace loci::world {

namespace {

using Builder = SceneBuilder;

const Float3 kWindowLight = {2.3f, 1.45f, 0.55f};
const Float3 kLampLight = {2.6f, 1.7f, 0.75f};

Float3 darker(const Float3& c, float amount) { return c * (1 - amount); }

}  // namespace

void add_house(Draft& d, const Place& at, float width, float depth, int storeys,
               const HouseLook& look) {
  const float height = look.storey * static_cast<float>(storeys);
  const Float3 glass = d.mood.dark() ? colour(0x1c2a44) : colour(0x4d6f92);
  const Float3 light = kWindowLight * d.mood.lamps();
  // Windows fit the front: four per repetition, each one storey high.
  const float columns = std::max(1.0f, std::floor(width / 2.3f));
  const float pitch = width / columns;
  const float tile = 4 * pitch;
  int32_t wall = d.material(kFacade, tile, look.wall, look.trim, glass, light);
  // The pattern is square, so the height of a storey follows from the distance of the windows.
  const float storey = pitch;
  const float wall_height = storey * std::max(1.0f, std::floor(height / storey + 0.3f));
  const int32_t plain =
      look.brick ? d.matte(kBrick, 2.4f, look.wall, 0.22f) : d.matte(kPlaster, 5, look.wall, 0.12f);
  const int32_t roof = d.matte(kRoofTiles, 3.2f, look.roof, 0.35f);
  const int32_t trim = d.matte(kPlain, 2, look.trim);
  const float base_height = 0.35f;
  d.build.box(at, width + 0.16f, base_height, depth + 0.16f,
              d.matte(kAshlar, 1.6f, darker(look.wall, 0.45f), 0.2f));
  d.build.box(Builder::inside(at, 0, base_height, 0), width, wall_height, depth,
              Faces{wall, plain});
  const float top = base_height + wall_height;
  const Place eaves = Builder::inside(at, 0, top, 0);
  switch (look.shape) {
    case HouseLook::Roof::kGable:
      d.build.gable(eaves, width, 0.42f * width + 0.6f, depth, 0.35f, d.topped(roof), plain);
      break;
    case HouseLook::Roof::kPyramid:
      d.build.pyramid(eaves, width + 0.7f, 0.36f * width + 0.6f, depth + 0.7f, 0.12f,
                      d.topped(roof));
      break;
    case HouseLook::Roof::kDome: {
      d.build.box(eaves, width + 0.2f, 0.35f, depth + 0.2f, d.faces(trim));
      const float radius = 0.38f * std::min(width, depth);
      d.build.sphere(Builder::inside(eaves, 0, 0.2f - radius, 0), radius,
                     d.topped(d.matte(kPlain, 3, look.roof)));
      break;
    }
  }
  if (look.shape == HouseLook::Roof::kGable && d.random.chance(0.6)) {
    d.build.box(Builder::inside(eaves, 0.25f * width, 0.1f, 0.2f * depth), 0.7f,
                0.3f * width + 1.1f, 0.7f, d.faces(d.matte(kBrick, 1.2f, colour(0x8c4a3c))));
  }
  // A door with steps at the front, in its own colour.
  const Float3 door =
      colour(d.pick(std::to_array<uint32_t>({0x7a2f24, 0x1f5a4c, 0x243f78, 0x6b4a22, 0xb3872c})));
  const int32_t panel = d.material(kPanel, 2.2f, door, door * 1.35f, door * 0.6f);
  const float door_x = columns > 1 ? (d.random.chance(0.5) ? -0.5f : 0.5f) * pitch : 0.0f;
  d.build.box(Builder::inside(at, door_x, 0, -0.5f * depth - 0.02f), 1.36f, 2.35f, 0.22f,
              d.faces(trim));
  d.build.box(Builder::inside(at, door_x, 0, -0.5f * depth - 0.1f), 1.1f, 2.2f, 0.16f, panel);
  d.build.box(Builder::inside(at, door_x, 0, -0.5f * depth - 0.35f), 1.7f, 0.18f, 0.7f,
              d.faces(d.matte(kAshlar, 1.2f, colour(0xb8b0a4))));
}

void add_tower(Draft& d, const Place& at, float radius, float height, const Float3& wall,
               const Float3& roof_colour, int roof_kind, bool round) {
  const Float3 glass = d.mood.dark() ? colour(0x1c2a44) : colour(0x36506e);
  const Float3 light = kWindowLight * d.mood.lamps();
  const Float3 trim = mix(wall, Float3{1, 1, 1}, 0.55f);
  const float around = round ? static_cast<float>(2 * kPi) * radius : 2 * radius;
  const float repeats = std::max(1.0f, std::floor(around / 8 + 0.5f));
  const int32_t body =
      d.material(kArches, round ? around / repeats : 4 * radius, wall, trim, glass, light);
  const int32_t plinth = d.matte(kAshlar, 1.8f, darker(wall, 0.5f), 0.2f);
  const int32_t band = d.matte(kPlain, 2, trim);
  const int32_t roof = d.topped(d.matte(kRoofTiles, 3, roof_colour, 0.35f));
  const auto storey = [&](float y, float r, float h, Faces f) {
    const Place p = Builder::inside(at, 0, y, 0);
    if (round) {
      d.build.cylinder(p, r, h, f);
    } else {
      d.build.box(p, 2 * r, h, 2 * r, f);
    }
  };
  storey(0, radius + 0.25f, 1.0f, d.faces(plinth));
  storey(1.0f, radius, height - 1.4f, Faces{body, band});
  storey(height - 0.5f, radius + 0.3f, 0.5f, d.faces(band));
  const Place top = Builder::inside(at, 0, height, 0);
  if (roof_kind == 0) {
    if (round) {
      d.build.cone(top, radius + 0.45f, 1.9f * radius + 1, roof);
    } else {
      d.build.pyramid(top, 2 * radius + 0.6f, 2.2f * radius + 1, 2 * radius + 0.6f, 0, roof);
    }
  } else if (roof_kind == 1) {
    d.build.pyramid(top, 2 * radius + 0.5f, 1.4f * radius, 2 * radius + 0.5f, 0.25f, roof);
    d.build.cone(Builder::inside(top, 0, 1.4f * radius, 0), 0.5f * radius, 1.3f * radius, roof);
  } else if (roof_kind == 2) {
    d.build.sphere(Builder::inside(top, 0, -0.95f * radius, 0), radius * 0.98f,
                   d.topped(d.matte(kStripes, 2 * radius, roof_colour, 0.25f)));
    d.build.cone(Builder::inside(top, 0, 0.9f * radius, 0), 0.16f * radius, 1.0f * radius,
                 d.matte(kPlain, 1, colour(0xe8c34a)));
  } else {
    const int32_t merlon = d.matte(kAshlar, 1.6f, wall, 0.2f);
    for (int i = 0; i < 8; ++i) {
      const double angle = (i + 0.5) * kPi / 4;
      const float reach = round ? radius : radius * 1.06f;
      d.build.box(Builder::inside(top, reach * static_cast<float>(exact_cos(angle)), 0,
                                  reach * static_cast<float>(exact_sin(angle)),
                                  static_cast<float>(-45.0 * i)),
                  0.55f, 0.8f, 0.55f, d.faces(merlon));
    }
  }
}

void add_lantern(Draft& d, const Place& at, float strength, const Float3& tint) {
  const float on = std::max(d.mood.lamps(), 0.12f);
  d.build.sphere(at, 0.22f, d.shining(kLampLight * tint * (on * 1.2f)));
  if (d.mood.lamps() > 0) {
    d.build.lamp({at.x, at.y + 0.2f, at.z}, kLampLight * tint * (strength * d.mood.lamps()), 9);
  }
}

void add_lamp_post(Draft& d, const Place& at) {
  const int32_t iron = d.matte(kPlain, 1, colour(0x2b3038));
  d.build.frustum(at, 0.16f, 0.11f, 0.5f, iron);
  d.build.cylinder(Builder::inside(at, 0, 0.5f, 0), 0.07f, 2.5f, iron);
  add_lantern(d, Builder::inside(at, 0, 3.0f, 0), 1.0f, {1, 1, 1});
  d.build.cone(Builder::inside(at, 0, 3.4f, 0), 0.3f, 0.28f, d.topped(iron));
}

void add_sign(Draft& d, const Place& at, const Float3& board, const Float3& glyph) {
  d.build.cylinder(at, 0.07f, 1.5f, d.matte(kPlanks, 1, colour(0x5d4630)));
  d.build.box(Builder::inside(at, 0, 1.35f, 0), 1.25f, 1.25f, 0.1f,
              d.faces(d.material(kSign, 1.25f, board, glyph, glyph * 0.8f)));
}

void add_stall(Draft& d, const Place& at, const Float3& cloth) {
  const int32_t wood = d.matte(kPlanks, 1.6f, colour(0x8a6238));
  const int32_t awning = d.material(kStripes, 1.4f, cloth, colour(0xf6efe0), cloth);
  d.build.box(at, 2.4f, 0.95f, 1.1f, d.faces(wood));
  for (const float x : {-1.15f, 1.15f})
    d.build.cylinder(Builder::inside(at, x, 0, -0.8f), 0.06f, 2.3f, wood);
  for (const float x : {-1.15f, 1.15f})
    d.build.cylinder(Builder::inside(at, x, 0, 0.6f), 0.06f, 2.3f, wood);
  d.build.gable(Builder::inside(at, 0, 2.25f, -0.1f, 90), 1.9f, 0.75f, 2.7f, 0.1f, d.topped(awning),
                awning);
  for (int i = 0; i < 4; ++i) {
    const Float3 fruit =
        colour(d.pick(std::to_array<uint32_t>({0xe2542c, 0xf2c530, 0x7db53c, 0xb03a5c})));
    d.build.sphere(Builder::inside(at, -0.85f + 0.55f * static_cast<float>(i), 0.92f, 0), 0.2f,
                   d.matte(kPlain, 1, fruit));
  }
}

void add_bench(Draft& d, const Place& at, const Float3& wood) {
  const int32_t plank = d.matte(kPlanks, 1.2f, wood);
  d.build.box(Builder::inside(at, 0, 0.4f, 0), 1.7f, 0.09f, 0.5f, d.faces(plank));
  d.build.box(Builder::inside(at, 0, 0.49f, 0.22f), 1.7f, 0.45f, 0.07f, d.faces(plank));
  for (const float x : {-0.7f, 0.7f})
    d.build.box(Builder::inside(at, x, 0, 0), 0.1f, 0.4f, 0.45f,
                d.matte(kPlain, 1, colour(0x30343c)));
}

void add_column(Draft& d, const Place& at, float radius, float height, const Float3& stone) {
  const int32_t body = d.matte(kAshlar, 1.6f, stone, 0.16f);
  const int32_t cap = d.matte(kPlain, 1, mix(stone, Float3{1, 1, 1}, 0.15f));
  d.build.box(at, 2.5f * radius, 0.3f, 2.5f * radius, d.faces(cap));
  d.build.frustum(Builder::inside(at, 0, 0.3f, 0), radius, 0.85f * radius, height - 0.65f, body);
  d.build.box(Builder::inside(at, 0, height - 0.35f, 0), 2.4f * radius, 0.35f, 2.4f * radius,
              d.faces(cap));
}

void add_obelisk(Draft& d, const Place& at, float height, const Float3& stone) {
  const float width = 0.17f * height + 0.3f;
  d.build.box(at, 1.7f * width, 0.5f, 1.7f * width, d.faces(d.matte(kAshlar, 1.5f, stone * 0.7f)));
  d.build.pyramid(Builder::inside(at, 0, 0.5f, 0), width, height, width, 0.55f,
                  d.matte(kStripes, height * 0.6f, stone, 0.3f));
  d.build.pyramid(Builder::inside(at, 0, 0.5f + height, 0), 0.55f * width, 0.5f * width,
                  0.55f * width, 0, d.topped(d.matte(kPlain, 1, colour(0xf0cf5a))));
}

void add_fountain(Draft& d, const Place& at, float radius, const Float3& stone) {
  const int32_t rim = d.matte(kAshlar, 1.4f, stone, 0.2f);
  const int32_t water = d.water(d.mood.dark() ? colour(0x1a3c5c) : colour(0x2e86a8));
  d.build.cylinder(at, radius, 0.5f, d.faces(rim));
  d.build.cylinder(Builder::inside(at, 0, 0.44f, 0), radius - 0.3f, 0.07f,
                   Faces{water, d.mood.snow() ? d.snow() : water});
  d.build.frustum(Builder::inside(at, 0, 0.4f, 0), 0.28f * radius, 0.16f * radius, 1.1f, rim);
  d.build.frustum(Builder::inside(at, 0, 1.5f, 0), 0.2f * radius, 0.55f * radius, 0.35f,
                  Faces{rim, water});
  d.build.frustum(Builder::inside(at, 0, 1.8f, 0), 0.14f * radius, 0.08f * radius, 0.8f, rim);
  d.build.sphere(Builder::inside(at, 0, 2.5f, 0), 0.18f * radius,
                 d.matte(kPlain, 1, colour(0xe9c24c)));
}

void add_pond(Draft& d, const Place& at, float radius, const Float3& base) {
  d.build.cylinder({at.x, 0, at.z, 0}, radius, 0.06f, d.water(base));
}

void add_statue(Draft& d, const Place& at, float height, const Float3& stone) {
  const int32_t body = d.matte(kPlain, 2, stone, 0.15f);
  const float s = height / 3;
  d.build.box(at, 1.3f * s, 0.8f * s, 1.3f * s, d.faces(d.matte(kAshlar, 1.2f, stone * 0.6f)));
  d.build.frustum(Builder::inside(at, 0, 0.8f * s, 0), 0.42f * s, 0.25f * s, 1.2f * s, body);
  d.build.ellipsoid(Builder::inside(at, 0, 1.6f * s, 0), 0.42f * s, 0.45f * s, 0.3f * s, body);
  d.build.sphere(Builder::inside(at, 0, 2.42f * s, 0), 0.25f * s, d.topped(body));
}

void add_gate(Draft& d, const Place& at, float width, float height, const Float3& stone) {
  const int32_t block = d.matte(kAshlar, 1.8f, stone, 0.2f);
  for (const float side : {-1.0f, 1.0f}) {
    d.build.box(Builder::inside(at, side * (0.5f * width + 0.55f), 0, 0), 1.1f, height, 1.2f,
                d.faces(block));
  }
  d.build.box(Builder::inside(at, 0, height, 0), width + 2.8f, 0.9f, 1.5f, d.faces(block));
  d.build.gable(Builder::inside(at, 0, height + 0.9f, 0, 90), 1.5f, 0.9f, width + 2.8f, 0.2f,
                d.topped(d.matte(kRoofTiles, 2.4f, colour(0x9c4030), 0.35f)), block);
}

}  // namespace loci::world
