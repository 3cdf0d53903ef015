// SPDX-License-Identifier: Apache-2.0
// The kinds of worlds. Each function fills a draft whose mood and random numbers are set; it places
// solids, paints the ground, names features and marks viewpoints.
#pragma once

#include "loci/world/scene/draft.h"

namespace loci::world {

void build_town(Draft& draft);
void build_courtyard(Draft& draft);
void build_forest(Draft& draft);
void build_desert(Draft& draft);
void build_interior(Draft& draft);
void build_ruins(Draft& draft);
void build_garden(Draft& draft);

}  // namespace loci::world
