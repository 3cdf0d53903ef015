// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include "loci/base/error.h"
#include "loci/memory/history/history_policy.h"

namespace loci::memory {

namespace {

class WindowHistory : public HistoryPolicy {
 public:
  explicit WindowHistory(const WindowOptions& options) : options_(options) {
    LOCI_CHECK(options.sink_frames >= 0 && options.recent_frames >= 0 && frame_budget() > 0,
               "a sink of {} and a recent window of {} frames", options.sink_frames,
               options.recent_frames);
  }

  std::string_view name() const override { return "window"; }
  int64_t frame_budget() const override { return options_.sink_frames + options_.recent_frames; }

  void commit(const HistoryFrame& frame) override {
    if (frame.index < options_.sink_frames) {
      sink_.push_back(frame);
      return;
    }
    recent_.push_back(frame);
    if (std::ssize(recent_) > options_.recent_frames) recent_.pop_front();
  }

  std::vector<int64_t> select(std::span<const HistoryFrame>) const override { return retained(); }
  std::vector<int64_t> retained() const override {
    std::vector<int64_t> frames;
    for (const HistoryFrame& frame : sink_) frames.push_back(frame.index);
    for (const HistoryFrame& frame : recent_) frames.push_back(frame.index);
    return frames;
  }

  std::unique_ptr<HistoryPolicy> clone() const override {
    return std::make_unique<WindowHistory>(*this);
  }

  std::vector<RetainedFrame> save() const override {
    std::vector<RetainedFrame> saved;
    for (const HistoryFrame& frame : sink_) saved.push_back({frame, FrameRole::kSink});
    for (const HistoryFrame& frame : recent_) saved.push_back({frame, FrameRole::kRecent});
    return saved;
  }
  void restore(std::vector<RetainedFrame> frames) override {
    check_retained(frames, frame_budget(), name());
    sink_.clear();
    recent_.clear();
    for (const RetainedFrame& each : frames) commit(each.frame);
  }

 private:
  WindowOptions options_;
  std::vector<HistoryFrame> sink_;   // ascending
  std::deque<HistoryFrame> recent_;  // ascending
};

}  // namespace

std::unique_ptr<HistoryPolicy> make_window_history(const WindowOptions& options) {
  return std::make_unique<WindowHistory>(options);
}

}  // namespace loci::memory
