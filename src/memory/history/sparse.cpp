// SPDX-License-Identifier: Apache-2.0
// The policies sparse and pinned: a bank of frames that cover different directions.
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
  HistoryFrame frame;
  camera::VisibleDirections view;
};

class SparseHistory : public HistoryPolicy {
 public:
  explicit SparseHistory(const SparseOptions& options) : options_(options) {
    LOCI_CHECK(options.bank_frames >= 0 && options.recent_frames >= 0,
               "a bank of {} and a recent window of {} frames", options.bank_frames,
               options.recent_frames);
    if (options.pin_anchors && options.bank_frames < kAnchors) {
      fail(
          "the history policy 'pinned' keeps {} anchor frames and has a bank of {}; give it a "
          "larger budget or choose 'sparse'",
          kAnchors, options.bank_frames);
    }
  }

  std::string_view name() const override { return options_.pin_anchors ? "pinned" : "sparse"; }
  int64_t frame_budget() const override {
    return 1 + options_.bank_frames + options_.recent_frames;
  }

  void commit(const HistoryFrame& frame) override {
    if (frame.index == 0) {
      first_.assign(1, with_view(frame));
      return;
    }
    recent_.push_back(with_view(frame));
    while (std::ssize(recent_) > options_.recent_frames) {
      consider(std::move(recent_.front()));
      recent_.pop_front();
    }
  }

  std::vector<int64_t> select(std::span<const HistoryFrame>) const override { return retained(); }

  std::vector<int64_t> retained() const override {
    std::vector<int64_t> frames;
    for (const BankFrame& each : first_) frames.push_back(each.frame.index);
    for (const BankFrame& each : bank_) frames.push_back(each.frame.index);
    for (const BankFrame& each : recent_) frames.push_back(each.frame.index);
    return frames;
  }

  std::unique_ptr<HistoryPolicy> clone() const override {
    return std::make_unique<SparseHistory>(*this);
  }

  std::vector<RetainedFrame> save() const override {
    std::vector<RetainedFrame> saved;
    for (const BankFrame& each : first_) saved.push_back({each.frame, FrameRole::kSink});
    for (const BankFrame& each : bank_) saved.push_back({each.frame, FrameRole::kBank});
    for (const BankFrame& each : recent_) saved.push_back({each.frame, FrameRole::kRecent});
    return saved;
  }

  void restore(std::vector<RetainedFrame> frames) override {
    check_retained(frames, frame_budget(), name());
    first_.clear();
    bank_.clear();
    recent_.clear();
    for (const RetainedFrame& each : frames) {
      switch (each.role) {
        case FrameRole::kSink:
          first_.push_back(with_view(each.frame));
          break;
        case FrameRole::kBank:
          bank_.push_back(with_view(each.frame));
          break;
        case FrameRole::kRecent:
          recent_.push_back(with_view(each.frame));
          break;
      }
    }
    if (first_.size() > 1 || std::ssize(bank_) > options_.bank_frames ||
        std::ssize(recent_) > options_.recent_frames) {
      fail(
          "the saved history has {} first, {} bank and {} recent frames; the policy '{}' keeps at "
          "most 1, {} and {}",
          first_.size(), bank_.size(), recent_.size(), name(), options_.bank_frames,
          options_.recent_frames);
    }
  }

 private:
  BankFrame with_view(const HistoryFrame& frame) const {
    return {frame, camera::visible_directions(frame.camera, options_.aspect)};
  }

  bool is_anchor(int64_t frame) const {
    return options_.pin_anchors && frame <= kLastAnchor && frame % kAnchorEvery == 1;
  }

  // Share of the frame's directions that frame 0 and the other bank frames cover.
  double covered(const BankFrame& bank_frame) const {
    std::vector<const camera::VisibleDirections*> others;
    for (const BankFrame& other : first_) others.push_back(&other.view);
    for (const BankFrame& other : bank_) {
      if (other.frame.index != bank_frame.frame.index) others.push_back(&other.view);
    }
    return camera::coverage(bank_frame.view, others, options_.radius);
  }

  // A frame that leaves the recent window joins the bank or is dropped.
  void consider(BankFrame candidate) {
    if (!is_anchor(candidate.frame.index) && 1 - covered(candidate) < options_.new_coverage) return;
    bank_.push_back(std::move(candidate));
    if (std::ssize(bank_) > options_.bank_frames) evict();
  }

  // Drops the frame that the others cover best; of equal frames the newer.
  void evict() {
    auto worst = bank_.end();
    double worst_share = -1;
    for (auto at = bank_.begin(); at != bank_.end(); ++at) {
      if (is_anchor(at->frame.index)) continue;
      // Rounded, so that shares which differ only by rounding errors are equal.
      const double share = std::round(covered(*at) * 1e12) / 1e12;
      if (share >= worst_share) {
        worst_share = share;
        worst = at;
      }
    }
    if (worst != bank_.end()) bank_.erase(worst);
  }

  SparseOptions options_;
  std::vector<BankFrame> first_;  // frame 0; empty before the first commit
  std::vector<BankFrame> bank_;   // ascending
  std::deque<BankFrame> recent_;  // ascending
};

}  // namespace

std::unique_ptr<HistoryPolicy> make_sparse_history(const SparseOptions& options) {
  return std::make_unique<SparseHistory>(options);
}

}  // namespace loci::memory
