// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "loci/base/error.h"
#include "loci/memory/history/history_policy.h"

namespace loci::memory {

namespace {

class DenseHistory : public HistoryPolicy {
 public:
  std::string_view name() const override { return "dense"; }
  int64_t frame_budget() const override { return 0; }
  void commit(const FrameView& view) override { views_.push_back(view); }
  std::vector<int64_t> select(std::span<const FrameView>) const override { return retained(); }
  std::vector<int64_t> retained() const override {
    std::vector<int64_t> all(views_.size());
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
  void restore(std::vector<HeldFrame> frames) override {
    check_held(frames, 0, name());
    views_.clear();
    for (HeldFrame& held : frames) {
      if (held.view.frame != std::ssize(views_)) {
        fail("the saved history lacks frame {}; a dense one has all of them", views_.size());
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
