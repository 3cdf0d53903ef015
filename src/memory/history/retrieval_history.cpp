// SPDX-License-Identifier: Apache-2.0
#include "loci/memory/history/retrieval_history.h"

#include <algorithm>

#include "loci/base/error.h"

namespace loci::memory {

RetrievalHistory::RetrievalHistory(const RetrievalOptions& options) : options_(options) {
  LOCI_CHECK(
      options.retrieved_frames >= 0 && options.recent_frames >= 0 && options.archive_frames >= 0,
      "{} retrieved, {} recent and {} archived frames", options.retrieved_frames,
      options.recent_frames, options.archive_frames);
}

int64_t RetrievalHistory::frame_budget() const {
  return 1 + options_.retrieved_frames + options_.recent_frames;
}

int64_t RetrievalHistory::stored_frames() const {
  return options_.archive_frames == 0 ? 0 : 1 + options_.archive_frames + options_.recent_frames;
}

void RetrievalHistory::add_to_archive(const HistoryFrame& frame) {
  archive_.push_back(frame);
  added();
  if (options_.archive_frames > 0 && std::ssize(archive_) > options_.archive_frames) {
    const size_t place = to_drop();
    archive_.erase(archive_.begin() + static_cast<std::ptrdiff_t>(place));
    erased(place);
  }
}

void RetrievalHistory::commit(const HistoryFrame& frame) {
  if (frame.index == 0) {
    first_.assign(1, frame);
    return;
  }
  recent_.push_back(frame);
  while (std::ssize(recent_) > options_.recent_frames) {
    if (is_archived(recent_.front())) add_to_archive(recent_.front());
    recent_.pop_front();
  }
}

std::vector<int64_t> RetrievalHistory::select(std::span<const HistoryFrame> upcoming) const {
  const std::vector<std::vector<double>> lists = scores(upcoming);
  std::vector<bool> chosen(archive_.size());
  int64_t left = options_.retrieved_frames;
  for (bool found = true; found && left > 0;) {
    found = false;
    for (const std::vector<double>& list : lists) {
      size_t best = archive_.size();
      for (size_t i = 0; i < archive_.size(); ++i) {
        if (chosen[i] || list[i] == kNever) continue;
        // Of equal scores the newer frame, which was generated from a longer past.
        if (best == archive_.size() || list[i] >= list[best]) best = i;
      }
      if (best == archive_.size() || left == 0) continue;
      chosen[best] = true;
      found = true;
      --left;
    }
  }
  std::vector<int64_t> frames;
  for (const HistoryFrame& frame : first_) frames.push_back(frame.index);
  for (size_t i = 0; i < archive_.size(); ++i) {
    if (chosen[i]) frames.push_back(archive_[i].index);
  }
  for (const HistoryFrame& frame : recent_) frames.push_back(frame.index);
  return frames;
}

std::vector<int64_t> RetrievalHistory::retained() const {
  std::vector<int64_t> frames;
  for (const RetainedFrame& each : save()) frames.push_back(each.frame.index);
  return frames;
}

std::vector<RetainedFrame> RetrievalHistory::save() const {
  std::vector<RetainedFrame> saved;
  for (const HistoryFrame& frame : first_) saved.push_back({frame, FrameRole::kSink});
  for (const HistoryFrame& frame : archive_) saved.push_back({frame, FrameRole::kBank});
  for (const HistoryFrame& frame : recent_) saved.push_back({frame, FrameRole::kRecent});
  return saved;
}

void RetrievalHistory::restore(std::vector<RetainedFrame> frames) {
  check_retained(frames, stored_frames(), name());
  while (!archive_.empty()) {
    archive_.pop_back();
    erased(archive_.size());
  }
  first_.clear();
  recent_.clear();
  for (const RetainedFrame& each : frames) {
    switch (each.role) {
      case FrameRole::kSink:
        first_.push_back(each.frame);
        break;
      case FrameRole::kBank:
        archive_.push_back(each.frame);
        added();
        break;
      case FrameRole::kRecent:
        recent_.push_back(each.frame);
        break;
    }
  }
  const bool over = options_.archive_frames > 0 && std::ssize(archive_) > options_.archive_frames;
  if (first_.size() > 1 || over || std::ssize(recent_) > options_.recent_frames) {
    fail(
        "the saved history has {} first, {} archived and {} recent frames; the policy '{}' keeps "
        "at most 1, {} and {}",
        first_.size(), archive_.size(), recent_.size(), name(),
        options_.archive_frames > 0 ? std::to_string(options_.archive_frames) : "any number",
        options_.recent_frames);
  }
}

}  // namespace loci::memory
