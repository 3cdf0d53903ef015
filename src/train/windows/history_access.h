// SPDX-License-Identifier: Apache-2.0
// What chunks of a training window see of their past. The paper shows them everything; under a
// bounded access, as in streaming, the recurrent state has to carry what the keys no longer do.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "loci/base/config.h"
#include "loci/base/random.h"
#include "loci/camera/camera.h"
#include "loci/memory/history/history_policy.h"
#include "loci/model/transformer/forward_context.h"

namespace loci::train {

struct HistoryAccessConfig {
  // Share of windows with bounded access; the others see their whole past.
  double bounded_share = 0;
  // Drawn uniformly for a bounded window: the policy that chooses (sparse, overlap or landmarks),
  // and how many frames it may choose and how many it keeps as recent ones.
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

// Chunks of a window as its budget lets them see, chosen by the window's own poses (relative to its
// first frame).
std::vector<model::ChunkSpan> draw_history_access(const HistoryAccessConfig& config,
                                                  int64_t chunk_size, int64_t tokens_per_frame,
                                                  std::span<const camera::Camera> cameras,
                                                  double aspect, Random& random);

// The same for one policy, which has no past yet.
std::vector<model::ChunkSpan> bounded_chunks(std::unique_ptr<memory::HistoryPolicy> policy,
                                             int64_t chunk_size, int64_t tokens_per_frame,
                                             std::span<const camera::Camera> cameras);

}  // namespace loci::train
