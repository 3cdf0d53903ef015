// SPDX-License-Identifier: Apache-2.0
// Which chunks of a window show what was seen before, and how long before.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "loci/train/windows/window.h"

namespace loci::train {

// Per chunk of a window: seconds since its view was first seen, if it was seen and then left
// before; of its frames, the longest.
std::vector<std::optional<double>> memory_gaps(const Window& window, int64_t chunk);

}  // namespace loci::train
