// SPDX-License-Identifier: Apache-2.0
// Captions of a scene, from its style, mood and features.
#pragma once

#include <string>
#include <vector>

#include "loci/base/random.h"

namespace loci::world {

struct Scene;

// The caption, such as "a snowy town at dusk with a red tower", then paraphrases of it.
std::vector<std::string> make_captions(const Scene& scene, Random& random);

}  // namespace loci::world
