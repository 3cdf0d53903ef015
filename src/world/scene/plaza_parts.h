// SPDX-License-Identifier: Apache-2.0
// The vocabulary of the style plaza: one palette, and a few parts made of large plain solids. All
// surfaces are plain, so that a small model can learn the style. Sizes are in metres.
#pragma once

#include <array>

#include "loci/world/scene/draft.h"

namespace loci::world::plaza {

// Walls of houses.
inline constexpr std::array<NamedColour, 6> kWalls = {{{"cream", 0xf1ddb8},
                                                       {"apricot", 0xefb366},
                                                       {"coral", 0xe4836a},
                                                       {"rose", 0xe8a9a4},
                                                       {"sage", 0x9dbf93},
                                                       {"blue", 0x84b4cc}}};
// Strong colours of roofs, doors and landmarks.
inline constexpr std::array<NamedColour, 5> kAccents = {{{"red", 0xc8402f},
                                                         {"teal", 0x16807f},
                                                         {"golden", 0xe9a21c},
                                                         {"violet", 0x6d4a92},
                                                         {"white", 0xf4ecda}}};
inline constexpr std::array<NamedColour, 4> kLeaves = {
    {{"green", 0x6ba34a}, {"pink", 0xee86a8}, {"orange", 0xe27f2e}, {"yellow", 0xe8c53d}}};
inline constexpr uint32_t kRoof = 0xb9503a, kTrim = 0xf6ead0, kGlass = 0x3d5a80, kDark = 0x43304f,
                          kWood = 0x8a5a3c, kStone = 0xe2cfae, kWater = 0x4fb3c8,
                          kHedge = 0x5c8f4b, kGold = 0xf0b62c;

enum class Roof { kEaves, kGable, kHip, kFlat, kDome };

// A house in a row. The place is the middle of the lower edge of its front, which faces the -z
// axis.
struct House {
  float width = 4, height = 3.2f;
  float left = 0, right = 0;  // continuation of the walls and the roof to the sides, for corners
  uint32_t wall = 0, roof = kRoof, door = 0;
  Roof shape = Roof::kEaves;
  bool arched = false, shutters = false;
  bool with_door = true;
};
void add_row_house(Draft& draft, const Place& front, const House& house);

// Landmarks in a row, with the same place as a house.
void add_gate_tower(Draft& draft, const Place& front, float width, uint32_t wall, uint32_t roof);
void add_bell_tower(Draft& draft, const Place& front, float width, uint32_t wall, uint32_t roof);
void add_clock_house(Draft& draft, const Place& front, float width, uint32_t wall, uint32_t roof);
void add_chapel(Draft& draft, const Place& front, float width, uint32_t wall, uint32_t dome);
void add_arcade(Draft& draft, const Place& front, float width, uint32_t wall, uint32_t inside);
// A low wall with tall cypresses behind it.
void add_garden_wall(Draft& draft, const Place& front, float width, uint32_t wall, uint32_t leaf);
// A round tower for a corner of the square.
void add_round_tower(Draft& draft, const Place& at, float height, uint32_t wall, uint32_t roof);

// Landmarks for the middle, at most 1.5 m in radius below head height.
void add_basin_fountain(Draft& draft, const Place& at, uint32_t stone);
void add_planted_tree(Draft& draft, const Place& at, float size, uint32_t leaf, uint32_t rim);
void add_well(Draft& draft, const Place& at, uint32_t stone, uint32_t roof);
void add_needle(Draft& draft, const Place& at, uint32_t stone);
void add_sculpture(Draft& draft, const Place& at, uint32_t body);

// Objects for the sides, which fit into 2.4 x 1.6 m.
void add_awning_stall(Draft& draft, const Place& at, uint32_t cloth);
void add_pot(Draft& draft, const Place& at, uint32_t pot, uint32_t leaf);
void add_cypress(Draft& draft, const Place& at, float height, uint32_t leaf);
void add_block_bench(Draft& draft, const Place& at, uint32_t seat);
void add_crates(Draft& draft, const Place& at, uint32_t top);

}  // namespace loci::world::plaza
