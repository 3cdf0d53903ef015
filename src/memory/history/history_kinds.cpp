// SPDX-License-Identifier: Apache-2.0
// Policies by name, with one budget divided as each of them divides it.
#include <algorithm>
#include <map>
#include <utility>

#include "loci/base/choice.h"
#include "loci/base/error.h"
#include "loci/memory/history/history_policy.h"
#include "loci/memory/history/history_registry.h"

namespace loci::memory {

namespace {

constexpr int64_t kLandmarks = 256;

// Nothing of the past: what a recurrent state alone remembers. Bounded, hence a budget above 0.
class NoHistory : public HistoryPolicy {
 public:
  std::string_view name() const override { return "no_history"; }
  int64_t frame_budget() const override { return 1; }
  void commit(const FrameView&) override {}
  std::vector<int64_t> select(std::span<const FrameView>) const override { return {}; }
  std::vector<int64_t> retained() const override { return {}; }
  std::unique_ptr<HistoryPolicy> clone() const override {
    return std::make_unique<NoHistory>(*this);
  }
  std::vector<HeldFrame> save() const override { return {}; }
  void restore(std::vector<HeldFrame> frames) override {
    if (!frames.empty()) fail("the saved history holds {} frames; none are kept", frames.size());
  }
};

PanoramaBankOptions bank(const HistoryOptions& o, bool pinned) {
  PanoramaBankOptions options;
  options.bank_frames = o.budget - 1 - o.recent;
  options.recent_frames = o.recent;
  options.pin_anchors = pinned;
  options.aspect = o.aspect;
  return options;
}

RetrievalOptions retrieval(const HistoryOptions& o) {
  RetrievalOptions options;
  options.retrieved_frames = o.budget - 1 - o.recent;
  options.recent_frames = o.recent;
  options.archive_frames = o.archive;
  options.aspect = o.aspect;
  return options;
}

std::vector<std::string>& names() {
  static std::vector<std::string> all = {"dense",   "sparse",    "pinned", "window",
                                         "overlap", "landmarks", "content"};
  return all;
}

bool is_known(const std::string& name) {
  return std::find(names().begin(), names().end(), name) != names().end();
}

std::map<std::string, HistoryFactory>& registered() {
  static std::map<std::string, HistoryFactory> factories;
  return factories;
}

}  // namespace

void HistoryOptions::set_budget(int64_t frames) {
  budget = frames;
  recent = std::clamp<int64_t>(frames - 1, 0, HistoryOptions().recent);
}

const std::vector<std::string>& history_names() { return names(); }

void register_history(const std::string& name, HistoryFactory factory) {
  LOCI_CHECK(!is_known(name), "there is a history '{}' already", name);
  names().push_back(name);
  registered()[name] = std::move(factory);
}

std::unique_ptr<HistoryPolicy> make_history(const HistoryOptions& o) {
  constexpr int64_t kMost = 1'000'000;
  const bool bare = o.budget == 0 || o.budget == 1;  // without recent frames
  if (!bare && (o.budget < 2 || o.budget > kMost || o.recent < 1 || o.recent > o.budget - 1)) {
    fail(
        "a history of {} frames, {} of them recent; choose 0 (none), 1 (the first frame), or more "
        "with at least one of them recent",
        o.budget, o.recent);
  }
  if (o.archive < 0 || o.archive > kMost) {
    fail("an archive of {} frames; choose 0 (no limit) to {}", o.archive, kMost);
  }
  if (o.kind == "dense") return make_dense_history();
  if (bare && is_known(o.kind)) {
    if (o.budget == 0) return std::make_unique<NoHistory>();
    return make_sink_window({1, 0});
  }
  if (o.kind == "sparse") return make_panorama_bank(bank(o, /*pinned=*/false));
  if (o.kind == "pinned") return make_panorama_bank(bank(o, /*pinned=*/true));
  if (o.kind == "window") {
    const int64_t sink = std::min<int64_t>(SinkWindowOptions().sink_frames, o.budget - 1);
    return make_sink_window({sink, o.budget - sink});
  }
  if (o.kind == "overlap") return make_overlap_retrieval(retrieval(o));
  if (o.kind == "landmarks") {
    RetrievalOptions options = retrieval(o);
    if (options.archive_frames == 0) options.archive_frames = kLandmarks;
    return make_landmarks(options);
  }
  if (o.kind == "content") return make_content_retrieval(retrieval(o));
  if (const auto found = registered().find(o.kind); found != registered().end()) {
    return found->second(o);
  }
  fail_choice("history", o.kind, history_names());
}

void check_held(const std::vector<HeldFrame>& frames, int64_t most, std::string_view policy) {
  if (most > 0 && static_cast<int64_t>(frames.size()) > most) {
    fail("the saved history holds {} frames; {} keeps at most {}", frames.size(), policy, most);
  }
  int64_t last = -1;
  for (const HeldFrame& held : frames) {
    if (held.view.frame <= last) {
      fail("the saved history names frame {} after frame {}", held.view.frame, last);
    }
    last = held.view.frame;
  }
}

}  // namespace loci::memory
