// SPDX-License-Identifier: Apache-2.0
// A window in which every chunk stands twice: once as the present, under noise, and once as the
// past of later chunks, clean. All of it goes through the model at once, and yet every chunk sees
// what a stream would have kept, and states hold what a stream would have written.
#pragma once

#include <vector>

#include "loci/model/transformer/forward_context.h"

namespace loci::train {

struct PastCopies {
  std::vector<int64_t> frames;  // which frame of the window each frame of the input shows
  std::vector<bool> present;    // of the input's frames, those under noise
  // Presents see the copies of what the window's chunks see, and are not written.
  std::vector<model::ChunkSpan> chunks;

  // The input's frames that are present and frame 0: one for each frame of the window, in order,
  // but for those of chunks that are past alone.
  std::vector<int64_t> outputs() const;
};

// Frame 0, then the present and the copy of one chunk after the other; no one sees the last chunk,
// which has no copy. `chunks` are those of the window itself. Where `asked` is not empty, it tells
// of each chunk after frame 0 whether it has a present; what comes after the last such is left out.
PastCopies with_past_copies(const std::vector<model::ChunkSpan>& chunks,
                            const std::vector<bool>& asked = {});

}  // namespace loci::train
