// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "loci/base/error.h"
#include "loci/camera/view_overlap.h"
#include "loci/memory/history/history_policy.h"

namespace loci::memory {

namespace {

class FrustumHistory : public HistoryPolicy {
 public:
  explicit FrustumHistory(const FrustumOptions& options) : options_(options) {
    LOCI_CHECK(options.sink_frames >= 0 && options.recent_frames >= 0 &&
                   options.retrieved_frames >= 0 && options.chunk_frames >= 1 && frame_budget() > 0,
               "a sink of {}, {} recent and {} retrieved frames, chunks of {}", options.sink_frames,
               options.recent_frames, options.retrieved_frames, options.chunk_frames);
  }

  std::string_view name() const override { return "frustum"; }
  int64_t frame_budget() const override {
    return options_.sink_frames + options_.recent_frames + options_.retrieved_frames;
  }
  // The frames of the newest chunk are retained besides those that were chosen for it.
  int64_t stored_frames() const override { return frame_budget() + options_.chunk_frames; }

  // The frames that were not chosen for a chunk leave when the chunk is committed.
  void commit(const HistoryFrame& frame) override {
    if (planned_) {
      retrieved_ = planned_->retrieved;
      std::erase_if(body_, [&](const HistoryFrame& each) {
        return !std::ranges::binary_search(planned_->frames, each.index);
      });
      planned_.reset();
    }
    (frame.index < options_.sink_frames ? sink_ : body_).push_back(frame);
    // Only frames that are committed without a plan exceed the limit.
    const int64_t most = stored_frames() - options_.sink_frames;
    if (std::ssize(body_) > most) body_.erase(body_.begin());
  }

  std::vector<int64_t> select(std::span<const HistoryFrame> upcoming) const override {
    if (upcoming.empty()) return newest();
    planned_ = choose(upcoming.back());
    std::vector<int64_t> frames = indices_of(sink_);
    frames.insert(frames.end(), planned_->frames.begin(), planned_->frames.end());
    return frames;
  }

  std::vector<int64_t> retained() const override {
    std::vector<int64_t> frames = indices_of(sink_);
    for (const HistoryFrame& frame : body_) frames.push_back(frame.index);
    return frames;
  }

  std::unique_ptr<HistoryPolicy> clone() const override {
    return std::make_unique<FrustumHistory>(*this);
  }

  // The detail of a frame is 1 + its place in the list of retrieved frames, or 0.
  std::vector<RetainedFrame> save() const override {
    std::vector<RetainedFrame> saved;
    for (const HistoryFrame& frame : sink_) saved.push_back({frame, FrameRole::kSink});
    for (const HistoryFrame& frame : body_) {
      const auto place = std::ranges::find(retrieved_, frame.index);
      const bool there = place != retrieved_.end();
      saved.push_back({frame, there ? FrameRole::kBank : FrameRole::kRecent,
                       there ? 1 + (place - retrieved_.begin()) : 0});
    }
    return saved;
  }

  void restore(std::vector<RetainedFrame> frames) override {
    check_retained(frames, stored_frames(), name());
    std::vector<HistoryFrame> sink, body;
    std::vector<std::pair<int64_t, int64_t>> places;  // detail, frame
    for (const RetainedFrame& each : frames) {
      const int64_t index = each.frame.index;
      const bool in_sink = index < options_.sink_frames;
      (in_sink ? sink : body).push_back(each.frame);
      if (each.detail == 0) continue;
      if (each.detail < 0 || each.detail > options_.retrieved_frames || in_sink) {
        fail("the saved history has frame {} with place {}; expected 0 to {}", index, each.detail,
             in_sink ? 0 : options_.retrieved_frames);
      }
      places.emplace_back(each.detail, index);
    }
    std::ranges::sort(places);
    sink_ = std::move(sink);
    body_ = std::move(body);
    planned_.reset();
    retrieved_.clear();
    for (const auto& [detail, index] : places) retrieved_.push_back(index);
  }

 private:
  struct Choice {
    std::vector<int64_t> frames;     // of the body, ascending
    std::vector<int64_t> retrieved;  // in the order in which they were chosen
  };

  static std::vector<int64_t> indices_of(const std::vector<HistoryFrame>& frames) {
    std::vector<int64_t> indices;
    for (const HistoryFrame& frame : frames) indices.push_back(frame.index);
    return indices;
  }

  // Sink and newest frames.
  std::vector<int64_t> newest() const {
    std::vector<int64_t> frames = indices_of(sink_), rest = indices_of(body_);
    const auto most = frame_budget() - options_.sink_frames;
    const int64_t first = std::max<int64_t>(0, std::ssize(rest) - most);
    frames.insert(frames.end(), rest.begin() + first, rest.end());
    return frames;
  }

  // The frames of the body for a chunk that ends with `last`.
  Choice choose(const HistoryFrame& last) const {
    const int64_t room = options_.retrieved_frames, recent = options_.recent_frames;
    if (std::ssize(body_) <= room + recent) return {indices_of(body_), retrieved_};
    const std::span<const HistoryFrame> candidates =
        std::span(body_).first(body_.size() - static_cast<size_t>(recent));
    const std::vector<int64_t> ranked = rank(candidates, last);
    Choice choice;
    choice.retrieved = with_hysteresis(candidates, ranked);
    choice.frames = choice.retrieved;
    for (const HistoryFrame& frame : std::span(body_).last(static_cast<size_t>(recent))) {
      choice.frames.push_back(frame.index);
    }
    std::ranges::sort(choice.frames);
    return choice;
  }

  // The best candidates, as many as there is room: those that overlap enough in order of their
  // overlap, then the newest others.
  std::vector<int64_t> rank(std::span<const HistoryFrame> candidates,
                            const HistoryFrame& last) const {
    std::vector<std::pair<double, int64_t>> scored;
    for (const HistoryFrame& frame : candidates) {
      scored.emplace_back(camera::view_overlap(last.camera, frame.camera, options_.aspect),
                          frame.index);
    }
    std::ranges::sort(scored, std::greater());
    const auto room = static_cast<size_t>(options_.retrieved_frames);
    std::vector<int64_t> ranked, others;
    for (const auto& [score, frame] : scored) {
      if (score >= options_.least_overlap && ranked.size() < room) {
        ranked.push_back(frame);
      } else {
        others.push_back(frame);
      }
    }
    std::ranges::sort(others, std::greater());
    for (size_t i = 0; ranked.size() < room && i < others.size(); ++i) ranked.push_back(others[i]);
    return ranked;
  }

  // Limits how many of the frames that the last chunk retrieved are replaced.
  std::vector<int64_t> with_hysteresis(std::span<const HistoryFrame> candidates,
                                       const std::vector<int64_t>& ranked) const {
    const auto in = [](const std::vector<int64_t>& list, int64_t frame) {
      return std::ranges::find(list, frame) != list.end();
    };
    std::vector<int64_t> before;
    for (const int64_t frame : retrieved_) {
      if (std::ranges::find(candidates, frame, &HistoryFrame::index) != candidates.end()) {
        before.push_back(frame);
      }
    }
    if (before.empty()) return ranked;
    const auto room = static_cast<size_t>(options_.retrieved_frames);
    std::vector<int64_t> result, incoming;
    for (const int64_t frame : before) {
      if (in(ranked, frame)) result.push_back(frame);
    }
    for (const int64_t frame : ranked) {
      if (!in(result, frame)) incoming.push_back(frame);
    }
    const size_t most = std::min(std::max(static_cast<size_t>(options_.swapped_frames),
                                          room - std::min(room, before.size())),
                                 room - std::min(room, result.size()));
    const size_t taken = std::min(most, incoming.size());
    result.insert(result.end(), incoming.begin(), incoming.begin() + static_cast<int64_t>(taken));
    for (const int64_t frame : before) {
      if (result.size() < room && !in(result, frame)) result.push_back(frame);
    }
    for (size_t i = taken; i < incoming.size() && result.size() < room; ++i) {
      result.push_back(incoming[i]);
    }
    return result;
  }

  FrustumOptions options_;
  std::vector<HistoryFrame> sink_, body_;  // ascending
  std::vector<int64_t> retrieved_;         // for the newest committed chunk
  // For the chunk that is committed next. A later select() replaces it.
  mutable std::optional<Choice> planned_;
};

}  // namespace

std::unique_ptr<HistoryPolicy> make_frustum_history(const FrustumOptions& options) {
  return std::make_unique<FrustumHistory>(options);
}

}  // namespace loci::memory
