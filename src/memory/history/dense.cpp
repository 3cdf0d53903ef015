// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "loci/base/error.h"
#include "loci/memory/history/history_policy.h"

namespace loci::memory {

namespace {

class DenseHistory : public HistoryPolicy {
 public:
  explicit DenseHistory(int64_t recent_frames) : recent_frames_(recent_frames) {}

  std::string_view name() const override { return "dense"; }
  int64_t frame_budget() const override { return 0; }
  void commit(const HistoryFrame& frame) override { frames_.push_back(frame); }
  std::vector<int64_t> select(std::span<const HistoryFrame>) const override { return retained(); }
  std::vector<int64_t> retained() const override {
    std::vector<int64_t> all(frames_.size());
    std::iota(all.begin(), all.end(), int64_t{0});
    return all;
  }
  std::unique_ptr<HistoryPolicy> clone() const override {
    return std::make_unique<DenseHistory>(*this);
  }
  std::vector<RetainedFrame> save() const override {
    std::vector<RetainedFrame> saved;
    saved.reserve(frames_.size());
    for (const HistoryFrame& frame : frames_) {
      const bool recent = std::ssize(frames_) - frame.index <= recent_frames_;
      saved.push_back({frame, frame.index == 0 ? FrameRole::kSink
                              : recent         ? FrameRole::kRecent
                                               : FrameRole::kBank});
    }
    return saved;
  }
  void restore(std::vector<RetainedFrame> frames) override {
    check_retained(frames, 0, name());
    frames_.clear();
    for (RetainedFrame& each : frames) {
      if (each.frame.index != std::ssize(frames_)) {
        fail("the saved history lacks frame {}; the policy 'dense' keeps all frames",
             frames_.size());
      }
      frames_.push_back(std::move(each.frame));
    }
  }

 private:
  int64_t recent_frames_;
  std::vector<HistoryFrame> frames_;  // all frames from 0
};

}  // namespace

std::unique_ptr<HistoryPolicy> make_dense_history(int64_t recent_frames) {
  return std::make_unique<DenseHistory>(recent_frames);
}

}  // namespace loci::memory
