// SPDX-License-Identifier: Apache-2.0
// Stage "visible history": the earlier frames that the chunks of a training window attend to. In
// the paper every chunk attends to its whole past. Under a bounded history, as in streaming, the
// recurrent states have to carry what the keys no longer hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loci/base/config.h"
#include "loci/model/transformer/config.h"
#include "loci/model/transformer/forward_context.h"
#include "loci/train/data/window.h"

namespace loci::train {

// The section "history" of a phase.
struct HistoryConfig {
  // Share of windows with a bounded history; the chunks of the others attend to their whole past.
  double bounded_share = 0;
  // Drawn uniformly for a bounded window: the history policy (any registered policy that selects by
  // cameras), the number of frames besides frame 0 and the recent ones, and the number of recent
  // frames.
  std::vector<std::string> policies = {"sparse"};
  std::vector<int64_t> bank_frames = {0, 4, 20};
  std::vector<int64_t> recent_frames = {0, 2, 8};

  static HistoryConfig from(const ConfigReader& reader);
};

// The chunks of a window with their visible history, drawn by `key`.
std::vector<model::ChunkSpan> draw_visible_history(const HistoryConfig& config,
                                                   const Window& window,
                                                   const model::TransformerConfig& model,
                                                   uint64_t key);

}  // namespace loci::train
