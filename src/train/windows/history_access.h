// SPDX-License-Identifier: Apache-2.0
// The visible history of the chunks of a training window. In the paper every chunk attends to its
// whole past. Under a bounded history, as in streaming, the recurrent states have to carry what the
// keys no longer hold.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "loci/base/config.h"
#include "loci/base/random.h"
#include "loci/camera/camera.h"
#include "loci/memory/history/history_registry.h"
#include "loci/model/transformer/forward_context.h"

namespace loci::train {

struct HistoryAccessConfig {
  // Share of windows with a bounded history; the chunks of the others attend to their whole past.
  double bounded_share = 0;
  // Drawn uniformly for a bounded window: the history policy (any registered policy that selects by
  // cameras), the number of frames besides frame 0 and the recent ones, and the number of recent
  // frames.
  std::vector<std::string> kinds = {"sparse"};
  std::vector<int64_t> bank_frames = {0, 4, 20};
  std::vector<int64_t> recent_frames = {0, 2, 8};
  // Share of windows in which the model itself made part of the past (guessed_past.h).
  double guess_share = 0;
  // Share of chunks that are learnt from among those that return to nothing; returns always are. In
  // long windows this saves most of the presents and keeps what asks the memory. Below 1 only with
  // past copies: without them every chunk has to stand there for the others to see.
  double new_share = 1;

  static HistoryAccessConfig from(const ConfigReader& reader);
};

// The chunks of a window with the visible history of a drawn policy. One camera per latent
// frame, all poses in the same frame of reference.
std::vector<model::ChunkSpan> draw_history_access(const HistoryAccessConfig& config,
                                                  int64_t chunk_size, int64_t tokens_per_frame,
                                                  std::span<const camera::Camera> cameras,
                                                  double aspect, Random& random);

}  // namespace loci::train
