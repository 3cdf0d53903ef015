// SPDX-License-Identifier: Apache-2.0
#include "loci/memory/history/history_registry.h"

#include <algorithm>
#include <utility>

#include "loci/base/error.h"
#include "loci/memory/history/retrieval_history.h"

namespace loci::memory {

namespace {

constexpr int64_t kMaxFrames = 1'000'000;
constexpr int64_t kMaxLandmarks = 256;

// Retains nothing, so that only the recurrent states remember. The policy is bounded, hence a
// budget above 0.
class NoHistory : public HistoryPolicy {
 public:
  std::string_view name() const override { return "none"; }
  int64_t frame_budget() const override { return 1; }
  void commit(const HistoryFrame&) override {}
  std::vector<int64_t> select(std::span<const HistoryFrame>) const override { return {}; }
  std::vector<int64_t> retained() const override { return {}; }
  std::unique_ptr<HistoryPolicy> clone() const override {
    return std::make_unique<NoHistory>(*this);
  }
  std::vector<RetainedFrame> save() const override { return {}; }
  void restore(std::vector<RetainedFrame> frames) override {
    if (!frames.empty()) {
      fail("the saved history has {} frames; a budget of 0 frames retains none", frames.size());
    }
  }
};

std::unique_ptr<HistoryPolicy> make_bank(const HistoryOptions& o, bool pinned) {
  SparseOptions options;
  options.bank_frames = o.budget - 1 - o.recent;
  options.recent_frames = o.recent;
  options.pin_anchors = pinned;
  options.aspect = o.aspect;
  return make_sparse_history(options);
}

RetrievalOptions retrieval(const HistoryOptions& o) {
  RetrievalOptions options;
  options.retrieved_frames = o.budget - 1 - o.recent;
  options.recent_frames = o.recent;
  options.archive_frames = o.archive;
  options.aspect = o.aspect;
  return options;
}

Registry<HistoryFactory>& history_registry() {
  static Registry<HistoryFactory> all(
      "history policy",
      {{"dense", "every earlier frame, so that memory and time grow with the stream",
        [](const HistoryOptions& o) { return make_dense_history(o.recent); }},
       {"sparse",
        "the first frame, a bank of frames that cover different directions, recent frames",
        [](const HistoryOptions& o) { return make_bank(o, /*pinned=*/false); }},
       {"pinned", "sparse with ten frames of the first 18 s that never leave the bank",
        [](const HistoryOptions& o) { return make_bank(o, /*pinned=*/true); }},
       {"window", "the first frames and the recent frames",
        [](const HistoryOptions& o) {
          const int64_t sink = std::min<int64_t>(o.sink, o.budget - 1);
          return make_window_history({sink, o.budget - sink});
        }},
       {"overlap", "the first frame, archived frames that cover the upcoming views, recent frames",
        [](const HistoryOptions& o) { return make_overlap_history(retrieval(o)); }},
       {"plain_overlap", "overlap without its weights for generated and for distant frames",
        [](const HistoryOptions& o) { return make_overlap_history(retrieval(o), kNoWeights); }},
       {"landmarks", "the first frame, the nearest of spaced archived frames, recent frames",
        [](const HistoryOptions& o) {
          RetrievalOptions options = retrieval(o);
          if (options.archive_frames == 0) options.archive_frames = kMaxLandmarks;
          return make_landmarks_history(options);
        }},
       {"content",
        "the first frame, archived frames with keys like the recent queries, recent frames",
        [](const HistoryOptions& o) { return make_content_history(retrieval(o)); }},
       {"frustum", "the first frames, frames that overlap with the upcoming view, recent frames",
        [](const HistoryOptions& o) {
          FrustumOptions options;
          options.sink_frames = std::min<int64_t>(o.sink, o.budget - 1);
          options.recent_frames = (o.budget - options.sink_frames + 1) / 2;
          options.retrieved_frames = o.budget - options.sink_frames - options.recent_frames;
          options.chunk_frames = o.chunk;
          options.aspect = o.aspect;
          return make_frustum_history(options);
        }}});
  return all;
}

std::unique_ptr<HistoryPolicy> make(const HistoryOptions& o, int64_t least_recent) {
  const HistoryKind& kind = history_registry().at(o.kind);
  const bool no_window = o.budget == 0 || o.budget == 1;
  if (!no_window && (o.budget < 2 || o.budget > kMaxFrames || o.recent < least_recent ||
                     o.recent > o.budget - 1)) {
    fail(
        "a history of {} frames with {} recent ones; choose 0 (none), 1 (the first frame), or 2 to "
        "{} frames with at least {} and at most all but one of them recent",
        o.budget, o.recent, kMaxFrames, least_recent);
  }
  if (o.sink < 0 || o.sink > kMaxFrames) {
    fail("a sink of {} frames; choose 0 to {}", o.sink, kMaxFrames);
  }
  if (o.archive < 0 || o.archive > kMaxFrames) {
    fail("an archive of {} frames; choose 0 (no limit) to {}", o.archive, kMaxFrames);
  }
  if (no_window && kind.name != "dense") {
    if (o.budget == 0) return std::make_unique<NoHistory>();
    return make_window_history({.sink_frames = 1, .recent_frames = 0});
  }
  return kind.make(o);
}

}  // namespace

void HistoryOptions::set_budget(int64_t frames) {
  budget = frames;
  recent = std::clamp<int64_t>(frames - 1, 0, HistoryOptions().recent);
}

void register_history(HistoryKind kind) { history_registry().add(std::move(kind)); }

const std::vector<HistoryKind>& history_kinds() { return history_registry().entries(); }

std::vector<std::string> history_names() { return history_registry().names(); }

std::unique_ptr<HistoryPolicy> make_history(const HistoryOptions& options) {
  return make(options, /*least_recent=*/1);
}

std::unique_ptr<HistoryPolicy> make_training_history(const HistoryOptions& options) {
  std::unique_ptr<HistoryPolicy> policy = make(options, /*least_recent=*/0);
  if (policy->wants_content()) {
    fail(
        "the history policy '{}' selects frames by their keys, which a training window does not "
        "have; choose a policy that selects by cameras",
        options.kind);
  }
  return policy;
}

}  // namespace loci::memory
