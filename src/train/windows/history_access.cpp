// SPDX-License-Identifier: Apache-2.0
#include "loci/train/windows/history_access.h"

#include <utility>

#include "loci/base/error.h"

#include "loci/base/choice.h"

namespace loci::train {

namespace {

constexpr int64_t kMaxFrames = 100'000;  // of a bank or a recent window

memory::HistoryOptions history_options(const std::string& kind, int64_t bank, int64_t recent) {
  return {.kind = kind, .budget = 1 + bank + recent, .recent = recent};
}

}  // namespace

HistoryAccessConfig HistoryAccessConfig::from(const ConfigReader& reader) {
  HistoryAccessConfig c;
  c.bounded_share = reader.get<double>("bounded_share", c.bounded_share, 0.0, 1.0);
  c.kinds = reader.get<std::vector<std::string>>("kinds", std::vector<std::string>(c.kinds));
  if (c.kinds.empty()) fail("{}: kinds is empty; name at least one history policy", reader.where());
  c.bank_frames =
      reader.get<std::vector<int64_t>>("bank_frames", std::vector<int64_t>(c.bank_frames));
  c.recent_frames =
      reader.get<std::vector<int64_t>>("recent_frames", std::vector<int64_t>(c.recent_frames));
  c.guess_share = reader.get<double>("guess_share", c.guess_share, 0.0, 1.0);
  c.new_share = reader.get<double>("new_share", c.new_share, 0.0, 1.0);
  for (const auto& [name, budgets] :
       {std::pair("bank_frames", &c.bank_frames), {"recent_frames", &c.recent_frames}}) {
    if (budgets->empty()) fail("{}: {} is empty; give at least one number", reader.where(), name);
    for (const int64_t budget : *budgets) {
      if (budget < 0 || budget > kMaxFrames) {
        fail("{}: {} has {}; expected 0 to {} frames", reader.where(), name, budget, kMaxFrames);
      }
    }
  }
  // A combination that a policy rejects is reported now, not when a window draws it.
  for (const std::string& kind : c.kinds) {
    for (const int64_t bank : c.bank_frames) {
      for (const int64_t recent : c.recent_frames) {
        try {
          memory::make_training_history(history_options(kind, bank, recent));
        } catch (const Error& error) {
          fail("{}: kinds: {}", reader.where(), error.what());
        }
      }
    }
  }
  return c;
}

std::vector<model::ChunkSpan> draw_history_access(const HistoryAccessConfig& config,
                                                  int64_t chunk_size, int64_t tokens_per_frame,
                                                  std::span<const camera::Camera> cameras,
                                                  double aspect, Random& random) {
  if (!random.chance(config.bounded_share)) {
    return model::window_chunks(static_cast<int64_t>(cameras.size()), chunk_size);
  }
  const int64_t bank = config.bank_frames[random.below(config.bank_frames.size())];
  const int64_t recent = config.recent_frames[random.below(config.recent_frames.size())];
  const std::string& kind = config.kinds[random.below(config.kinds.size())];
  memory::HistoryOptions options = history_options(kind, bank, recent);
  options.aspect = aspect;
  return model::planned_chunks(memory::HistoryPlanner(memory::make_training_history(options)),
                               chunk_size, tokens_per_frame, cameras);
}

}  // namespace loci::train
