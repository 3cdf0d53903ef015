// SPDX-License-Identifier: Apache-2.0
// Objects of scenes, from houses to lamp posts. The caller chooses a free place. Sizes are in
// metres.
#pragma once

#include "loci/world/scene/draft.h"

namespace loci::world {

struct HouseLook {
  Float3 wall, trim, roof;
  enum class Roof { kGable, kPyramid, kDome } shape = Roof::kGable;
  bool brick = false;
  float storey = 2.9f;
};

// A house with door, windows and chimney. Its front faces the -z axis of the place.
void add_house(Draft& draft, const Place& at, float width, float depth, int storeys,
               const HouseLook& look);
// A tall landmark. `roof_kind`: 0 cone, 1 pyramid, 2 dome, 3 battlements.
void add_tower(Draft& draft, const Place& at, float radius, float height, const Float3& wall,
               const Float3& roof, int roof_kind, bool round);

void add_conifer(Draft& draft, const Place& at, float height, const Float3& leaf);
void add_round_tree(Draft& draft, const Place& at, float height, const Float3& leaf);
void add_palm(Draft& draft, const Place& at, float height);
void add_cactus(Draft& draft, const Place& at, float height);
void add_bush(Draft& draft, const Place& at, float radius, const Float3& leaf);
void add_rock(Draft& draft, const Place& at, float radius, const Float3& stone);
void add_mushroom(Draft& draft, const Place& at, float height, const Float3& cap);

void add_lamp_post(Draft& draft, const Place& at);
void add_lantern(Draft& draft, const Place& at, float strength, const Float3& tint);
void add_sign(Draft& draft, const Place& at, const Float3& board, const Float3& glyph);
void add_stall(Draft& draft, const Place& at, const Float3& cloth);
void add_bench(Draft& draft, const Place& at, const Float3& wood);
void add_column(Draft& draft, const Place& at, float radius, float height, const Float3& stone);
void add_obelisk(Draft& draft, const Place& at, float height, const Float3& stone);
void add_fountain(Draft& draft, const Place& at, float radius, const Float3& stone);
void add_pond(Draft& draft, const Place& at, float radius, const Float3& water);
void add_statue(Draft& draft, const Place& at, float height, const Float3& stone);
// Two pillars and a beam over a passage of the given width.
void add_gate(Draft& draft, const Place& at, float width, float height, const Float3& stone);

}  // namespace loci::world
