// SPDX-License-Identifier: Apache-2.0
#include "loci/train/windows/visible_history.h"

#include <utility>

#include "loci/base/error.h"
#include "loci/base/random.h"
#include "loci/memory/history/history_registry.h"

namespace loci::train {

namespace {

constexpr uint64_t kSequenceHistory = 4;
constexpr int64_t kMaxFrames = 100'000;  // of a bank or a recent window

memory::HistoryOptions history_options(const std::string& policy, int64_t bank, int64_t recent) {
  return {.kind = policy, .budget = 1 + bank + recent, .recent = recent};
}

}  // namespace

HistoryConfig HistoryConfig::from(const ConfigReader& reader) {
  HistoryConfig c;
  c.bounded_share = reader.get<double>("bounded_share", c.bounded_share, 0.0, 1.0);
  c.policies =
      reader.get<std::vector<std::string>>("policies", std::vector<std::string>(c.policies));
  if (c.policies.empty()) {
    fail("{}: policies is empty; name at least one history policy", reader.where());
  }
  c.bank_frames =
      reader.get<std::vector<int64_t>>("bank_frames", std::vector<int64_t>(c.bank_frames));
  c.recent_frames =
      reader.get<std::vector<int64_t>>("recent_frames", std::vector<int64_t>(c.recent_frames));
  for (const auto& [name, counts] :
       {std::pair("bank_frames", &c.bank_frames), {"recent_frames", &c.recent_frames}}) {
    if (counts->empty()) fail("{}: {} is empty; give at least one number", reader.where(), name);
    for (const int64_t count : *counts) {
      if (count < 0 || count > kMaxFrames) {
        fail("{}: {} has {}; expected 0 to {} frames", reader.where(), name, count, kMaxFrames);
      }
    }
  }
  // A combination that a policy rejects is reported now, not when a window draws it.
  for (const std::string& policy : c.policies) {
    for (const int64_t bank : c.bank_frames) {
      for (const int64_t recent : c.recent_frames) {
        try {
          memory::make_training_history(history_options(policy, bank, recent));
        } catch (const Error& error) {
          fail("{}: policies: {}", reader.where(), error.what());
        }
      }
    }
  }
  return c;
}

std::vector<model::ChunkSpan> draw_visible_history(const HistoryConfig& config,
                                                   const Window& window,
                                                   const model::TransformerConfig& model,
                                                   uint64_t key) {
  Random random{key, kSequenceHistory};
  if (!random.chance(config.bounded_share)) {
    return model::window_chunks(std::ssize(window.cameras), model.chunk_size);
  }
  const int64_t bank = config.bank_frames[random.below(config.bank_frames.size())];
  const int64_t recent = config.recent_frames[random.below(config.recent_frames.size())];
  const std::string& policy = config.policies[random.below(config.policies.size())];
  const int64_t height = window.latents.size(2), width = window.latents.size(3);
  memory::HistoryOptions options = history_options(policy, bank, recent);
  options.aspect = static_cast<double>(width) / static_cast<double>(height);
  return model::planned_chunks(memory::HistoryPlanner(memory::make_training_history(options)),
                               model.chunk_size, model.grid(height, width).tokens(),
                               window.cameras);
}

}  // namespace loci::train
