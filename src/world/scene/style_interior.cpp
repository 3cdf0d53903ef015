// SPDX-License-Identifier: Apache-2.0
// A house of nine rooms with different colours, floors and centrepieces, joined by doorways.
#include <array>

#include "loci/world/scene/parts.h"
#include "loci/world/scene/patterns.h"
#include "loci/world/scene/styles.h"

namespace loci::world {

namespace {

constexpr int kRooms = 3;      // per side
constexpr float kRoom = 7.6f;  // side of a room, metres
constexpr float kHeight = 3.9f;
constexpr float kWall = 0.16f;  // half of a wall's thickness: every room has its own half
constexpr float kDoor = 1.9f;   // width of a doorway
constexpr float kDoorHeight = 2.5f;

constexpr std::array<uint32_t, 12> kWallColours = {0xc8503c, 0x3f6fb0, 0xe2b444, 0x4f9468,
                                                   0x8a5aa0, 0xe6e0d2, 0xd98a5c, 0x3f9aa0,
                                                   0xc96a8c, 0x8aa04c, 0x5a6478, 0xefcf9c};
constexpr std::array<uint32_t, 5> kFloors = {0xb98a58, 0xd9cdb8, 0x8f5f3e, 0xa9a6a0, 0xc89f78};

class Interior {
 public:
  explicit Interior(Draft& draft) : d(draft) {
    colours_ = kWallColours;
    for (size_t i = colours_.size(); i > 1; --i)
      std::swap(colours_[i - 1], colours_[d.random.below(i)]);
    patio_ = static_cast<int>(d.random.below(kRooms * kRooms));
  }

  void build() {
    const bool snow = d.mood.snow();
    d.ground.base = colour(snow ? 0xeef3f8 : 0x7fa552);
    d.ground.second = colour(snow ? 0xdfe8f0 : 0x94b060);
    d.geometry.meadow = {kGrass, 4, {}, {0.1f, 0, 0}, {-0.15f, 0, 0}};
    d.geometry.path = {
        d.random.chance(0.5) ? kPlanks : kTiles, 2.6f, {}, {-0.14f, 0, 0}, {-0.3f, 0, 0}};
    std::array<int, 10> kinds = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    for (size_t i = kinds.size(); i > 1; --i) std::swap(kinds[i - 1], kinds[d.random.below(i)]);
    for (int row = 0; row < kRooms; ++row) {
      for (int column = 0; column < kRooms; ++column) {
        const int index = row * kRooms + column;
        room(column, row, index);
        centrepiece(index == patio_ ? 10 : kinds[static_cast<size_t>(index)], centre(column, row));
      }
    }
    outside();
    d.trajectory_radius = 0.5f * kRooms * kRoom * 1.4f;
  }

 private:
  static Place centre(int column, int row) {
    return {(static_cast<float>(column) - 1) * kRoom, 0, (static_cast<float>(row) - 1) * kRoom, 0};
  }

  void room(int column, int row, int index) {
    const Place at = centre(column, row);
    const float half = 0.5f * kRoom;
    const bool open = index == patio_;
    const Float3 paint = colour(colours_[static_cast<size_t>(index)]);
    const Float3 floor =
        open ? colour(d.mood.snow() ? 0xe6edf4 : 0xb8b0a0) : colour(d.pick(kFloors));
    d.ground.strokes.push_back(
        {at.x - half, at.z - half, at.x + half, at.z + half, -1, floor, 1, 0.02f});
    const int kind = static_cast<int>(d.random.below(3));
    const int32_t wall =
        kind == 0   ? d.matte(kPlaster, 4, paint, 0.1f)
        : kind == 1 ? d.material(kStripes, 1.95f, paint, mix(paint, Float3{1, 1, 1}, 0.25f), paint)
                    : d.matte(kBrick, 2, paint, 0.18f);
    for (int side = 0; side < 4; ++side) {
      const bool outer = (side == 0 && row == kRooms - 1) || (side == 2 && row == 0) ||
                         (side == 1 && column == kRooms - 1) || (side == 3 && column == 0);
      if (outer) {
        outer_wall(at, side, wall);
      } else {
        inner_wall(at, side, wall);
      }
      if (!open) paintings(at, side, outer);
    }
    if (!open) {
      d.build.box({at.x, kHeight, at.z, 0}, kRoom, 0.3f, kRoom,
                  d.faces(d.matte(kPlaster, 4, mix(paint, Float3{1, 1, 1}, 0.75f), 0.08f)));
      ceiling_lamp(at, paint);
      const Float3 rug = colour(d.take_accent().rgb);
      const float size = 1.9f;
      d.ground.strokes.push_back(
          {at.x - size, at.z - size, at.x + size, at.z + size, -1, rug, 0, 0.03f});
      d.ground.strokes.push_back({at.x - size + 0.3f, at.z - size + 0.3f, at.x + size - 0.3f,
                                  at.z + size - 0.3f, -1, mix(rug, Float3{1, 1, 1}, 0.5f), 0,
                                  0.03f});
      d.ground.strokes.push_back({at.x - size + 0.5f, at.z - size + 0.5f, at.x + size - 0.5f,
                                  at.z + size - 0.5f, -1, rug * 0.8f, 0, 0.03f});
    }
    for (int side = 0; side < 4; ++side) {
      const Place from =
          SceneBuilder::inside({at.x, 0, at.z, 90.0f * static_cast<float>(side)}, 0, 0, -2.4f);
      d.viewpoints.push_back(
          {from.x, 0, from.z, 90.0f * static_cast<float>(side) + (index % 2 ? 25.0f : -20.0f)});
    }
  }

  // Side 0 is at +z. The wall has a doorway in its middle.
  void inner_wall(const Place& room, int side, int32_t wall) {
    const Place base{room.x, 0, room.z, 90.0f * static_cast<float>(side)};
    const float piece = 0.5f * (kRoom - kDoor), z = 0.5f * (kRoom - kWall);
    for (const float s : {-1.0f, 1.0f}) {
      d.build.box(SceneBuilder::inside(base, s * 0.5f * (kDoor + piece), 0, z), piece, kHeight,
                  kWall, wall);
    }
    d.build.box(SceneBuilder::inside(base, 0, kDoorHeight, z), kDoor, kHeight - kDoorHeight, kWall,
                wall);
  }

  void outer_wall(const Place& room, int side, int32_t wall) {
    const Place base{room.x, 0, room.z, 90.0f * static_cast<float>(side)};
    const float z = 0.5f * kRoom, sill = 0.9f, lintel = 3.0f, pier = 1.3f;
    d.build.box(SceneBuilder::inside(base, 0, 0, z), kRoom, sill, 2 * kWall, wall);
    d.build.box(SceneBuilder::inside(base, 0, lintel, z), kRoom, kHeight - lintel, 2 * kWall, wall);
    const int32_t frame = d.matte(kPlain, 1, colour(0xf4eee0));
    for (const float x : {-0.5f * (kRoom - pier), 0.0f, 0.5f * (kRoom - pier)}) {
      d.build.box(SceneBuilder::inside(base, x, sill, z), pier, lintel - sill, 2 * kWall, wall);
    }
    for (const float x : {-0.25f * kRoom + 0.16f, 0.25f * kRoom - 0.16f}) {
      d.build.box(SceneBuilder::inside(base, x, sill, z), 0.09f, lintel - sill, 0.1f, frame);
      d.build.box(SceneBuilder::inside(base, x, 0.5f * (sill + lintel), z), 2.2f, 0.09f, 0.1f,
                  frame);
      d.build.box(SceneBuilder::inside(base, x, sill - 0.05f, z - 0.12f), 2.5f, 0.1f, 0.5f, frame);
    }
  }

  void paintings(const Place& room, int side, bool outer) {
    if (outer || d.random.chance(0.25)) return;
    const Place base{room.x, 0, room.z, 90.0f * static_cast<float>(side)};
    const float x = (d.random.chance(0.5) ? 1.0f : -1.0f) * 2.35f, z = 0.5f * kRoom - kWall - 0.04f;
    const Float3 a = colour(d.take_accent().rgb), b = colour(d.take_accent().rgb);
    const int32_t pattern = d.pick(std::to_array<int32_t>({kSign, kCarpet, kChecker, kStripes}));
    const float size = d.uniform(1.2, 1.7);
    d.build.box(SceneBuilder::inside(base, x, 1.15f, z), size + 0.2f, size + 0.2f, 0.06f,
                d.matte(kPlain, 1, colour(0xc9a24a)));
    d.build.box(SceneBuilder::inside(base, x, 1.25f, z - 0.03f), size, size, 0.06f,
                d.material(pattern, size, a, b, colour(0xf6f0e2)));
  }

  void ceiling_lamp(const Place& at, const Float3& paint) {
    const Float3 warm = mix(Float3{1.0f, 0.86f, 0.66f}, paint, 0.12f);
    d.build.sphere({at.x, kHeight - 0.85f, at.z, 0}, 0.26f, d.shining(warm * 2.2f));
    d.build.cylinder({at.x, kHeight - 0.4f, at.z, 0}, 0.03f, 0.45f,
                     d.matte(kPlain, 1, colour(0x30343c)));
    d.build.lamp({at.x, kHeight - 0.75f, at.z}, warm * (d.mood.time == Time::kDay ? 1.1f : 1.6f),
                 10, 0.06f);
  }

  void centrepiece(int kind, const Place& at) {
    const NamedColour accent = d.take_accent();
    const Float3 tint = colour(accent.rgb), wood = colour(0x8a5c34), stone = colour(0xe6ded0);
    switch (kind) {
      case 0:
        add_statue(d, at, 2.7f, tint);
        d.feature(fmt::format("a {} statue", accent.name));
        break;
      case 1:
        d.build.cylinder(at, 0.9f, 0.5f, d.matte(kAshlar, 1.2f, stone));
        d.build.sphere({at.x, 0.45f, at.z, 0}, 0.75f, d.matte(kStripes, 1.4f, tint, 0.4f));
        d.feature(fmt::format("a {} sphere on a plinth", accent.name));
        break;
      case 2:
        d.build.box({at.x, 0.72f, at.z, 0}, 2.4f, 0.1f, 1.3f, d.matte(kPlanks, 1.5f, wood));
        for (const float x : {-1.0f, 1.0f})
          d.build.box({at.x + x, 0, at.z, 0}, 0.14f, 0.72f, 1.0f, d.matte(kPlanks, 1, wood * 0.8f));
        for (const float z : {-1.2f, 1.2f})
          d.build.box({at.x, 0, at.z + z, 0}, 1.6f, 0.45f, 0.4f, d.matte(kPlain, 1, tint));
        d.build.frustum({at.x, 0.82f, at.z, 0}, 0.16f, 0.26f, 0.35f, d.matte(kPlain, 1, tint));
        break;
      case 3:
        for (const float x : {-1.4f, 1.4f}) {
          for (const float z : {-1.4f, 1.4f})
            add_column(d, {at.x + x, 0, at.z + z, 0}, 0.24f, kHeight, mix(stone, tint, 0.5f));
        }
        d.feature(fmt::format("{} columns", accent.name));
        break;
      case 4:
        d.build.box({at.x, 0, at.z, 0}, 2.6f, 0.45f, 1.1f, d.matte(kPlain, 1, tint));
        d.build.box({at.x, 0.45f, at.z + 0.42f, 0}, 2.6f, 0.5f, 0.28f,
                    d.matte(kPlain, 1, tint * 0.85f));
        for (const float x : {-1.2f, 1.2f})
          d.build.box({at.x + x, 0, at.z, 0}, 0.3f, 0.7f, 1.1f, d.matte(kPlain, 1, tint * 0.85f));
        d.feature(fmt::format("a {} sofa", accent.name));
        break;
      case 5:
        d.build.frustum(at, 0.45f, 0.6f, 0.7f, d.matte(kPlain, 1, tint));
        d.build.cylinder({at.x, 0.6f, at.z, 0}, 0.07f, 1.1f, d.matte(kBark, 1, colour(0x6b4b36)));
        d.build.sphere(
            {at.x, 1.3f, at.z, 0}, 0.8f,
            d.material(kLeaves, 1.6f, colour(0x4c8a3a), colour(0x6fae4c), colour(0x2c5f2c)));
        d.feature("a potted tree");
        break;
      case 6: {
        const int32_t books = d.material(kBrick, 1.2f, tint, colour(0xe6c050), wood * 0.6f);
        d.build.box({at.x, 0, at.z, 20}, 2.6f, 2.1f, 0.55f,
                    Faces{books, d.matte(kPlanks, 1, wood)});
        d.feature(fmt::format("a bookcase of {} books", accent.name));
        break;
      }
      case 7:
        add_fountain(d, at, 1.2f, stone);
        d.feature("an indoor fountain");
        break;
      case 8:
        d.build.cone({at.x, 0, at.z, 0}, 0.8f, 2.4f, d.matte(kStripes, 1.6f, tint, 0.4f));
        d.feature(fmt::format("a {} cone", accent.name));
        break;
      case 9:
        for (int i = 0; i < 3; ++i) {
          const float size = 1.3f - 0.35f * static_cast<float>(i);
          const float y = i == 0 ? 0.0f : i == 1 ? 1.3f : 2.25f;
          d.build.box({at.x, y, at.z, 25.0f * static_cast<float>(i)}, size, size, size,
                      d.matte(kChecker, size, i == 1 ? stone : tint, 0.3f));
        }
        d.feature(fmt::format("a stack of {} cubes", accent.name));
        break;
      default:
        d.build.cylinder(at, 1.5f, 0.45f, d.faces(d.matte(kAshlar, 1.3f, stone)));
        add_round_tree(d, {at.x, 0.4f, at.z, 0}, 4.6f, colour(0x5f9a44));
        d.feature("a patio with a tree");
        break;
    }
  }

  void outside() {
    for (int i = 0; i < 26; ++i) {
      const double angle = 2 * kPi * (i + d.random.uniform(-0.3, 0.3)) / 26;
      const float reach = d.uniform(19, 30);
      const Place at{reach * static_cast<float>(exact_sin(angle)), 0,
                     reach * static_cast<float>(exact_cos(angle)), 0};
      add_round_tree(d, at, d.uniform(4, 7),
                     colour(d.pick(std::to_array<uint32_t>({0x4c8a3a, 0x7aa63a, 0xc8762c}))));
    }
  }

  Draft& d;
  std::array<uint32_t, 12> colours_;
  int patio_ = 0;
};

}  // namespace

void build_interior(Draft& draft) { Interior(draft).build(); }

}  // namespace loci::world
