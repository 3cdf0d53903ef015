// SPDX-License-Identifier: Apache-2.0
// The styles of scenes. Each function fills a draft with mood and random numbers: it places solids,
// paints the ground, and adds features and viewpoints.
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
void build_plaza(Draft& draft);

}  // namespace loci::world
