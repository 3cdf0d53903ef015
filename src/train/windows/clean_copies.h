// SPDX-License-Identifier: Apache-2.0
// Clean copies: an input in which every chunk is present twice, as a target chunk under noise and
// as a clean copy that later chunks read. One pass over such an input gives every target chunk the
// visible history and the recurrent states that a stream would have given it.
#pragma once

#include <vector>

#include "loci/model/transformer/forward_context.h"

namespace loci::train {

struct CopiedInput {
  std::vector<int64_t> frames;  // window frame that each frame of the input shows
  std::vector<bool> target;     // per frame of the input: belongs to a target chunk
  // The chunks of the input. Target chunks attend to clean copies and are not written to the
  // states.
  std::vector<model::ChunkSpan> chunks;

  // Indices of frame 0 and of the target chunks' frames, in the order of the window.
  std::vector<int64_t> outputs() const;
};

// Frame 0, then the target and the copy of one chunk after the other. `chunks` are the chunks of
// the window with their visible history. For each chunk after frame 0, `targets` tells whether it
// is a target chunk; empty: all are. The last target chunk has no copy, and chunks after it are
// omitted.
CopiedInput with_clean_copies(const std::vector<model::ChunkSpan>& chunks,
                              const std::vector<bool>& targets = {});

}  // namespace loci::train
