// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "loci/memory/history_policy.h"

namespace loci::memory {

namespace {

class DenseHistory : public HistoryPolicy {
 public:
  std::string_view name() const override { return "dense"; }
  int64_t frame_budget() const override { return 0; }
  void commit(const FrameView& view) override { frames_ = view.frame + 1; }
  std::vector<int64_t> select(std::span<const FrameView>) const override { return retained(); }
  std::vector<int64_t> retained() const override {
    std::vector<int64_t> all(frames_);
    std::iota(all.begin(), all.end(), int64_t{0});
    return all;
  }
  std::unique_ptr<HistoryPolicy> clone() const override {
    return std::make_unique<DenseHistory>(*this);
  }
  std::vector<HeldFrame> save() const override {
    std::vector<HeldFrame> held;
    if (frames_ > 0) held.emplace_back().view.frame = frames_ - 1;
    return held;
  }
  void restore(std::vector<HeldFrame> frames) override {
    check_held(frames, 1, name());
    frames_ = frames.empty() ? 0 : frames.front().view.frame + 1;
  }

 private:
  int64_t frames_ = 0;
};

}  // namespace

std::unique_ptr<HistoryPolicy> make_dense_history() { return std::make_unique<DenseHistory>(); }

}  // namespace loci::memory
