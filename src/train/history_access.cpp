// SPDX-License-Identifier: Apache-2.0
#include "loci/train/history_access.h"

#include "loci/memory/history_policy.h"

namespace loci::train {

HistoryAccessConfig HistoryAccessConfig::from(const ConfigReader& reader) {
  HistoryAccessConfig c;
  c.bounded_share = reader.get<double>("bounded_share", c.bounded_share, 0.0, 1.0);
  c.bank_frames =
      reader.get<std::vector<int64_t>>("bank_frames", std::vector<int64_t>(c.bank_frames));
  c.recent_frames =
      reader.get<std::vector<int64_t>>("recent_frames", std::vector<int64_t>(c.recent_frames));
  c.guess_share = reader.get<double>("guess_share", c.guess_share, 0.0, 1.0);
  for (const auto* budgets : {&c.bank_frames, &c.recent_frames}) {
    if (budgets->empty()) fail("{}: a list of budgets is empty", reader.where());
    for (const int64_t budget : *budgets) {
      if (budget < 0) fail("{}: a budget of {} frames", reader.where(), budget);
    }
  }
  return c;
}

std::vector<model::ChunkSpan> bounded_chunks(int64_t bank_frames, int64_t recent_frames,
                                             int64_t chunk_size, int64_t tokens_per_frame,
                                             std::span<const camera::Pose> poses,
                                             std::span<const camera::Intrinsics> lenses,
                                             double aspect) {
  memory::PanoramaBankOptions options;
  options.bank_frames = bank_frames;
  options.recent_frames = recent_frames;
  options.aspect = aspect;
  const auto policy = memory::make_panorama_bank(options);
  std::vector<model::ChunkSpan> chunks =
      model::window_chunks(static_cast<int64_t>(poses.size()), chunk_size);
  for (model::ChunkSpan& chunk : chunks) {
    if (chunk.begin > 0) {
      chunk.earlier = policy->select({});
      const auto count = static_cast<int64_t>(chunk.earlier.size());
      std::vector<double> shifts = model::compact_times(chunk.begin, count);
      for (int64_t i = 0; i < count; ++i) {
        shifts[i] -= static_cast<double>(chunk.earlier[i]);
        chunk.turned = chunk.turned || shifts[i] != 0;
      }
      if (chunk.turned) chunk.turn = model::time_shift(shifts, tokens_per_frame);
    }
    for (int64_t frame = chunk.begin; frame < chunk.end; ++frame) {
      policy->commit({frame, poses[frame], lenses[frame]});
    }
  }
  return chunks;
}

std::vector<model::ChunkSpan> draw_history_access(const HistoryAccessConfig& config,
                                                  int64_t chunk_size, int64_t tokens_per_frame,
                                                  std::span<const camera::Pose> poses,
                                                  std::span<const camera::Intrinsics> lenses,
                                                  double aspect, Random& random) {
  if (!random.chance(config.bounded_share)) {
    return model::window_chunks(static_cast<int64_t>(poses.size()), chunk_size);
  }
  const int64_t bank = config.bank_frames[random.below(config.bank_frames.size())];
  const int64_t recent = config.recent_frames[random.below(config.recent_frames.size())];
  return bounded_chunks(bank, recent, chunk_size, tokens_per_frame, poses, lenses, aspect);
}

}  // namespace loci::train
