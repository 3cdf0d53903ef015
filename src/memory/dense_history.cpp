// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "loci/base/error.h"
#include "loci/memory/history_policy.h"

namespace loci::memory {

namespace {

class DenseHistory : public HistoryPolicy {
 public:
  std::string_view name() const override { return "dense"; }
  int64_t frame_budget() const override { return 0; }
  void commit(const FrameView& view) override { views_.push_back(view); }
  std::vector<int64_t> select(std::span<const FrameView>) const override { return retained(); }
  std::vector<int64_t> retained() const override {
    std::vector<int64_t> all(views_.empty() ? 0 : views_.back().frame + 1);
    std::iota(all.begin(), all.end(), int64_t{0});
    return all;
  }
  std::unique_ptr<HistoryPolicy> clone() const override {
    return std::make_unique<DenseHistory>(*this);
  }
  std::vector<HeldFrame> save() const override {
    std::vector<HeldFrame> held;
    held.reserve(views_.size());
    for (const FrameView& view : views_) held.push_back({view, view.frame == 0 ? kFirst : kKept});
    return held;
  }
  // Files of earlier versions name the newest frame alone, which tells how many there are.
  void restore(std::vector<HeldFrame> frames) override {
    constexpr int64_t kMostUntold = 1'000'000;
    check_held(frames, 0, name());
    if (!frames.empty() && frames.front().view.frame > kMostUntold) {
      fail("the saved history begins with frame {}; expected frame 0", frames.front().view.frame);
    }
    views_.clear();
    for (HeldFrame& held : frames) {
      if (!views_.empty() && held.view.frame != views_.back().frame + 1) {
        fail("the saved history lacks the frames between {} and {}", views_.back().frame,
             held.view.frame);
      }
      views_.push_back(std::move(held.view));
    }
  }

 private:
  enum Role : int64_t { kFirst, kKept };

  std::vector<FrameView> views_;  // without a gap, up to the newest
};

}  // namespace

std::unique_ptr<HistoryPolicy> make_dense_history() { return std::make_unique<DenseHistory>(); }

}  // namespace loci::memory
