// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <deque>

#include "loci/base/error.h"
#include "loci/camera/visible_directions.h"
#include "loci/memory/history/history_policy.h"

namespace loci::memory {

namespace {

constexpr int64_t kAnchorEvery = 8;
constexpr int64_t kLastAnchor = 73;
constexpr int64_t kAnchors = kLastAnchor / kAnchorEvery + 1;

struct BankFrame {
  int64_t frame = 0;
  camera::VisibleDirections view;
  FrameView source;
};

enum Role : int64_t { kFirst, kBank, kRecent };

class PanoramaBank : public HistoryPolicy {
 public:
  explicit PanoramaBank(const PanoramaBankOptions& options) : options_(options) {
    LOCI_CHECK(options.bank_frames >= 0 && options.recent_frames >= 0,
               "a bank of {} and a window of {} frames", options.bank_frames,
               options.recent_frames);
    if (options.pin_anchors && options.bank_frames < kAnchors) {
      fail(
          "a bank of {} frames cannot hold the {} pinned anchors; give it at least {} or do not "
          "pin",
          options.bank_frames, kAnchors, kAnchors);
    }
  }

  std::string_view name() const override {
    return options_.pin_anchors ? "panorama_bank_pinned" : "panorama_bank";
  }
  int64_t frame_budget() const override {
    return 1 + options_.bank_frames + options_.recent_frames;
  }

  void commit(const FrameView& view) override {
    BankFrame frame = seen(view);
    if (view.frame == 0) {
      first_.assign(1, std::move(frame));
      return;
    }
    recent_.push_back(std::move(frame));
    while (static_cast<int64_t>(recent_.size()) > options_.recent_frames) {
      consider(std::move(recent_.front()));
      recent_.pop_front();
    }
  }

  std::vector<int64_t> select(std::span<const FrameView>) const override { return retained(); }

  std::vector<int64_t> retained() const override {
    std::vector<int64_t> frames;
    for (const BankFrame& frame : first_) frames.push_back(frame.frame);
    for (const BankFrame& frame : bank_) frames.push_back(frame.frame);
    for (const BankFrame& frame : recent_) frames.push_back(frame.frame);
    return frames;
  }

  std::unique_ptr<HistoryPolicy> clone() const override {
    return std::make_unique<PanoramaBank>(*this);
  }

  std::vector<HeldFrame> save() const override {
    std::vector<HeldFrame> held;
    for (const BankFrame& frame : first_) held.push_back({frame.source, kFirst});
    for (const BankFrame& frame : bank_) held.push_back({frame.source, kBank});
    for (const BankFrame& frame : recent_) held.push_back({frame.source, kRecent});
    return held;
  }

  void restore(std::vector<HeldFrame> frames) override {
    check_held(frames, frame_budget(), name());
    first_.clear();
    bank_.clear();
    recent_.clear();
    for (const HeldFrame& held : frames) {
      if (held.role == kFirst) {
        first_.push_back(seen(held.view));
      } else if (held.role == kBank) {
        bank_.push_back(seen(held.view));
      } else if (held.role == kRecent) {
        recent_.push_back(seen(held.view));
      } else {
        fail("the saved bank holds frame {} as {}, expected 0 to 2", held.view.frame, held.role);
      }
    }
    if (first_.size() > 1 || static_cast<int64_t>(bank_.size()) > options_.bank_frames ||
        static_cast<int64_t>(recent_.size()) > options_.recent_frames) {
      fail("the saved bank holds {} + {} + {} frames, more than 1 + {} + {}", first_.size(),
           bank_.size(), recent_.size(), options_.bank_frames, options_.recent_frames);
    }
  }

 private:
  BankFrame seen(const FrameView& view) const {
    return {view.frame, camera::visible_directions({view.pose, view.lens}, options_.aspect), view};
  }

  bool pinned(int64_t frame) const {
    return options_.pin_anchors && frame <= kLastAnchor && frame % kAnchorEvery == 1;
  }

  // Share of `frame`'s view that frame 0 and the other frames of the bank see.
  double covered(const BankFrame& frame) const {
    std::vector<const camera::VisibleDirections*> others;
    for (const BankFrame& other : first_) others.push_back(&other.view);
    for (const BankFrame& other : bank_) {
      if (other.frame != frame.frame) others.push_back(&other.view);
    }
    return camera::coverage(frame.view, others, options_.radius);
  }

  // A frame that leaves the recent window joins the bank or is forgotten.
  void consider(BankFrame frame) {
    if (!pinned(frame.frame) && 1 - covered(frame) < options_.new_coverage) return;
    bank_.push_back(std::move(frame));
    if (static_cast<int64_t>(bank_.size()) > options_.bank_frames) evict();
  }

  // The frame that the others cover best leaves; of equals the newer.
  void evict() {
    auto worst = bank_.end();
    double worst_share = -1;
    for (auto at = bank_.begin(); at != bank_.end(); ++at) {
      if (pinned(at->frame)) continue;
      // Shares equal but for rounding are equal.
      const double share = std::round(covered(*at) * 1e12) / 1e12;
      if (share >= worst_share) {
        worst_share = share;
        worst = at;
      }
    }
    if (worst != bank_.end()) bank_.erase(worst);
  }

  PanoramaBankOptions options_;
  std::vector<BankFrame> first_;  // frame 0, once it is there
  std::vector<BankFrame> bank_;   // ascending
  std::deque<BankFrame> recent_;  // ascending
};

}  // namespace

std::unique_ptr<HistoryPolicy> make_panorama_bank(const PanoramaBankOptions& options) {
  return std::make_unique<PanoramaBank>(options);
}

}  // namespace loci::memory
