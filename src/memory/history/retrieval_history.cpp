// SPDX-License-Identifier: Apache-2.0
#include "loci/memory/history/retrieval_history.h"

#include <algorithm>

#include "loci/base/error.h"

namespace loci::memory {

namespace {
enum Role : int64_t { kFirst, kArchived, kRecent };
}

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

void RetrievalHistory::archive_frame(const FrameView& view) {
  archive_.push_back(view);
  added();
  if (options_.archive_frames > 0 &&
      static_cast<int64_t>(archive_.size()) > options_.archive_frames) {
    const size_t place = least_wanted();
    archive_.erase(archive_.begin() + static_cast<std::ptrdiff_t>(place));
    erased(place);
  }
}

void RetrievalHistory::commit(const FrameView& view) {
  if (view.frame == 0) {
    first_.assign(1, view);
    return;
  }
  recent_.push_back(view);
  while (static_cast<int64_t>(recent_.size()) > options_.recent_frames) {
    if (joins(recent_.front())) archive_frame(recent_.front());
    recent_.pop_front();
  }
}

std::vector<int64_t> RetrievalHistory::select(std::span<const FrameView> upcoming) const {
  const std::vector<std::vector<double>> scores = rank(upcoming);
  std::vector<bool> chosen(archive_.size());
  int64_t left = options_.retrieved_frames;
  for (bool found = true; found && left > 0;) {
    found = false;
    for (const std::vector<double>& view : scores) {
      size_t best = archive_.size();
      for (size_t i = 0; i < archive_.size(); ++i) {
        if (chosen[i] || view[i] == kNever) continue;
        // Of equals the newer, which was made from a longer past.
        if (best == archive_.size() || view[i] >= view[best]) best = i;
      }
      if (best == archive_.size() || left == 0) continue;
      chosen[best] = true;
      found = true;
      --left;
    }
  }
  std::vector<int64_t> frames;
  for (const FrameView& view : first_) frames.push_back(view.frame);
  for (size_t i = 0; i < archive_.size(); ++i) {
    if (chosen[i]) frames.push_back(archive_[i].frame);
  }
  for (const FrameView& view : recent_) frames.push_back(view.frame);
  return frames;
}

std::vector<int64_t> RetrievalHistory::retained() const {
  std::vector<int64_t> frames;
  for (const HeldFrame& held : save()) frames.push_back(held.view.frame);
  return frames;
}

std::vector<HeldFrame> RetrievalHistory::save() const {
  std::vector<HeldFrame> held;
  for (const FrameView& view : first_) held.push_back({view, kFirst});
  for (const FrameView& view : archive_) held.push_back({view, kArchived});
  for (const FrameView& view : recent_) held.push_back({view, kRecent});
  return held;
}

void RetrievalHistory::restore(std::vector<HeldFrame> frames) {
  check_held(frames, stored_frames(), name());
  while (!archive_.empty()) {
    archive_.pop_back();
    erased(archive_.size());
  }
  first_.clear();
  recent_.clear();
  for (const HeldFrame& held : frames) {
    if (held.role == kFirst) {
      first_.push_back(held.view);
    } else if (held.role == kArchived) {
      archive_.push_back(held.view);
      added();
    } else if (held.role == kRecent) {
      recent_.push_back(held.view);
    } else {
      fail("the saved history holds frame {} as {}, expected 0 to 2", held.view.frame, held.role);
    }
  }
  const bool over = options_.archive_frames > 0 && std::ssize(archive_) > options_.archive_frames;
  if (first_.size() > 1 || over || std::ssize(recent_) > options_.recent_frames) {
    fail("the saved history holds {} + {} + {} frames, more than 1 + {} + {}", first_.size(),
         archive_.size(), recent_.size(),
         options_.archive_frames > 0 ? std::to_string(options_.archive_frames) : "any",
         options_.recent_frames);
  }
}

}  // namespace loci::memory
