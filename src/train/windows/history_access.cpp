// SPDX-License-Identifier: Apache-2.0
#include "loci/train/windows/history_access.h"

#include <algorithm>

#include "loci/base/choice.h"

namespace loci::train {

namespace {

// Those that choose by cameras alone.
const std::vector<std::string> kKinds = {"sparse", "overlap", "landmarks"};

std::unique_ptr<memory::HistoryPolicy> make_policy(const std::string& kind, int64_t chosen,
                                                   int64_t recent, double aspect) {
  if (kind == "sparse") {
    return memory::make_panorama_bank(
        {.bank_frames = chosen, .recent_frames = recent, .aspect = aspect});
  }
  const memory::RetrievalOptions options{
      .retrieved_frames = chosen, .recent_frames = recent, .aspect = aspect};
  return kind == "overlap" ? memory::make_overlap_retrieval(options)
                           : memory::make_landmarks(options);
}

}  // namespace

HistoryAccessConfig HistoryAccessConfig::from(const ConfigReader& reader) {
  HistoryAccessConfig c;
  c.bounded_share = reader.get<double>("bounded_share", c.bounded_share, 0.0, 1.0);
  c.kinds = reader.get<std::vector<std::string>>("kinds", std::vector<std::string>(c.kinds));
  if (c.kinds.empty()) fail("{}: the list of kinds is empty", reader.where());
  for (const std::string& kind : c.kinds) {
    if (std::ranges::find(kKinds, kind) == kKinds.end()) {
      fail("{}: {}", reader.where(), unknown_choice("history", kind, kKinds));
    }
  }
  c.bank_frames =
      reader.get<std::vector<int64_t>>("bank_frames", std::vector<int64_t>(c.bank_frames));
  c.recent_frames =
      reader.get<std::vector<int64_t>>("recent_frames", std::vector<int64_t>(c.recent_frames));
  c.guess_share = reader.get<double>("guess_share", c.guess_share, 0.0, 1.0);
  c.new_share = reader.get<double>("new_share", c.new_share, 0.0, 1.0);
  for (const auto* budgets : {&c.bank_frames, &c.recent_frames}) {
    if (budgets->empty()) fail("{}: a list of budgets is empty", reader.where());
    for (const int64_t budget : *budgets) {
      if (budget < 0) fail("{}: a budget of {} frames", reader.where(), budget);
    }
  }
  return c;
}

std::vector<model::ChunkSpan> bounded_chunks(std::unique_ptr<memory::HistoryPolicy> policy,
                                             int64_t chunk_size, int64_t tokens_per_frame,
                                             std::span<const camera::Camera> cameras) {
  std::vector<model::ChunkSpan> chunks =
      model::window_chunks(static_cast<int64_t>(cameras.size()), chunk_size);
  for (model::ChunkSpan& chunk : chunks) {
    std::vector<memory::FrameView> views;
    for (int64_t frame = chunk.begin; frame < chunk.end; ++frame) {
      views.push_back({.frame = frame,
                       .pose = cameras[frame].pose,
                       .lens = cameras[frame].lens,
                       .origin = memory::Origin::kGiven,
                       .key = {},
                       .query = {}});
    }
    if (chunk.begin > 0) {
      chunk.earlier = policy->select(views);
      const auto count = static_cast<int64_t>(chunk.earlier.size());
      std::vector<double> shifts = model::compact_times(chunk.begin, count);
      for (int64_t i = 0; i < count; ++i) {
        shifts[i] -= static_cast<double>(chunk.earlier[i]);
        chunk.turned = chunk.turned || shifts[i] != 0;
      }
      if (chunk.turned) chunk.turn = model::time_shift(shifts, tokens_per_frame);
    }
    for (const memory::FrameView& view : views) policy->commit(view);
  }
  return chunks;
}

std::vector<model::ChunkSpan> draw_history_access(const HistoryAccessConfig& config,
                                                  int64_t chunk_size, int64_t tokens_per_frame,
                                                  std::span<const camera::Camera> cameras,
                                                  double aspect, Random& random) {
  if (!random.chance(config.bounded_share)) {
    return model::window_chunks(static_cast<int64_t>(cameras.size()), chunk_size);
  }
  const int64_t chosen = config.bank_frames[random.below(config.bank_frames.size())];
  const int64_t recent = config.recent_frames[random.below(config.recent_frames.size())];
  const std::string& kind = config.kinds[random.below(config.kinds.size())];
  return bounded_chunks(make_policy(kind, chosen, recent, aspect), chunk_size, tokens_per_frame,
                        cameras);
}

}  // namespace loci::train
