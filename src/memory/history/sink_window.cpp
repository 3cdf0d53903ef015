// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include "loci/base/error.h"
#include "loci/memory/history/history_policy.h"

namespace loci::memory {

namespace {

class SinkWindow : public HistoryPolicy {
 public:
  explicit SinkWindow(const SinkWindowOptions& options) : options_(options) {
    LOCI_CHECK(options.sink_frames >= 0 && options.recent_frames >= 0 && frame_budget() > 0,
               "a sink of {} and a window of {} frames", options.sink_frames,
               options.recent_frames);
  }

  std::string_view name() const override { return "sink_window"; }
  int64_t frame_budget() const override { return options_.sink_frames + options_.recent_frames; }

  void commit(const FrameView& view) override {
    if (view.frame < options_.sink_frames) {
      sink_.push_back(view);
      return;
    }
    recent_.push_back(view);
    if (static_cast<int64_t>(recent_.size()) > options_.recent_frames) recent_.pop_front();
  }

  std::vector<int64_t> select(std::span<const FrameView>) const override { return retained(); }
  std::vector<int64_t> retained() const override {
    std::vector<int64_t> frames;
    for (const FrameView& view : sink_) frames.push_back(view.frame);
    for (const FrameView& view : recent_) frames.push_back(view.frame);
    return frames;
  }

  std::unique_ptr<HistoryPolicy> clone() const override {
    return std::make_unique<SinkWindow>(*this);
  }

  std::vector<HeldFrame> save() const override {
    std::vector<HeldFrame> held;
    for (const FrameView& view : sink_) held.push_back({view, kSink});
    for (const FrameView& view : recent_) held.push_back({view, kRecent});
    return held;
  }
  void restore(std::vector<HeldFrame> frames) override {
    check_held(frames, frame_budget(), name());
    sink_.clear();
    recent_.clear();
    for (const HeldFrame& held : frames) commit(held.view);
  }

 private:
  enum Role : int64_t { kSink = 0, kRecent = 2 };

  SinkWindowOptions options_;
  std::vector<FrameView> sink_;   // ascending
  std::deque<FrameView> recent_;  // ascending
};

}  // namespace

std::unique_ptr<HistoryPolicy> make_sink_window(const SinkWindowOptions& options) {
  return std::make_unique<SinkWindow>(options);
}

}  // namespace loci::memory
