// SPDX-License-Identifier: Apache-2.0
// Stage "target chunks": the chunks that a window is trained on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "loci/train/data/window.h"
#include "loci/train/windows/past_levels.h"

namespace loci::train {

// Per chunk after frame 0: seconds since the chunk's view was first visible, if the camera left the
// view in between. The longest of the chunk's frames counts.
std::vector<std::optional<double>> return_gaps(const Window& window, int64_t chunk_size);

// Per chunk after frame 0: whether it is a target chunk. Empty: all chunks are targets. If no chunk
// is drawn, the last one is the target.
std::vector<bool> draw_target_chunks(const PastConfig& past, const Window& window,
                                     int64_t chunk_size, uint64_t key);

}  // namespace loci::train
