// SPDX-License-Identifier: Apache-2.0
// Sentences about a world, from its style, mood and features.
#pragma once

#include <string>
#include <vector>

#include "loci/base/random.h"

namespace loci::world {

struct Scene;

// The caption first, then close paraphrases: "a snowy town at dusk with a red tower".
std::vector<std::string> make_captions(const Scene& scene, Random& random);

}  // namespace loci::world
