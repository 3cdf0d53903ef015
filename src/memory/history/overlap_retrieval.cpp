// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loci/camera/visible_directions.h"
#include "loci/memory/history/retrieval_history.h"

namespace loci::memory {

namespace {

// What a frame that the model made counts beside one that it was shown: what was made from the
// shown one repeats its content with errors of its own.
constexpr double kMadeWeight = 0.5;

class OverlapRetrieval : public RetrievalHistory {
 public:
  using RetrievalHistory::RetrievalHistory;

  std::string_view name() const override { return "overlap_retrieval"; }
  std::unique_ptr<HistoryPolicy> clone() const override {
    return std::make_unique<OverlapRetrieval>(*this);
  }

 protected:
  std::vector<std::vector<double>> rank(std::span<const FrameView> upcoming) const override {
    std::vector<std::vector<double>> scores;
    for (const FrameView& view : upcoming) {
      const Seen wanted = seen(view);
      std::vector<double>& row = scores.emplace_back();
      for (const Seen& source : views_) {
        const double shown = shown_by(source, wanted);
        row.push_back(shown > 0 ? shown : kNever);
      }
    }
    return scores;
  }

  // The newest of those that others show best: so places stay, seen from fewer sides. Where nothing
  // overlaps, the oldest.
  size_t least_wanted() const override {
    size_t place = 0;
    for (size_t i = 1; i < spare_.size(); ++i) {
      if (spare_[i] > 0 && spare_[i] >= spare_[place]) place = i;
    }
    return place;
  }

  void added() override {
    views_.push_back(seen(archive().back()));
    if (options().archive_frames == 0) return;  // nothing will be forgotten
    const Seen& added = views_.back();
    for (size_t i = 0; i + 1 < views_.size(); ++i) {
      spare_[i] = std::max(spare_[i], shown_by(added, views_[i]));
    }
    spare_.push_back(best_shown(views_.size() - 1));
  }
  void erased(size_t place) override {
    const Seen gone = views_[place];
    views_.erase(views_.begin() + static_cast<std::ptrdiff_t>(place));
    if (spare_.empty()) return;
    spare_.erase(spare_.begin() + static_cast<std::ptrdiff_t>(place));
    for (size_t i = 0; i < views_.size(); ++i) {
      if (shown_by(gone, views_[i]) == spare_[i]) spare_[i] = best_shown(i);
    }
  }

 private:
  struct Seen {
    camera::VisibleDirections view;
    double weight = 1;  // as a source
  };
  Seen seen(const FrameView& view) const {
    return {camera::visible_directions({view.pose, view.lens}, options().aspect),
            view.origin == Origin::kMade ? kMadeWeight : 1};
  }
  // How well `source` shows what `wanted` sees, 0 to 1: its share of it, less the farther away it
  // stands, since a near one sees the same from almost the same side.
  double shown_by(const Seen& source, const Seen& wanted) const {
    const camera::VisibleDirections* const others[] = {&source.view};
    const double away = camera::norm(wanted.view.position - source.view.position);
    return source.weight * camera::coverage(wanted.view, others, options().radius) *
           std::max(0.0, 1 - away / options().radius);
  }
  double best_shown(size_t place) const {
    double best = 0;
    for (size_t i = 0; i < views_.size(); ++i) {
      if (i != place) best = std::max(best, shown_by(views_[i], views_[place]));
    }
    return best;
  }

  std::vector<Seen> views_;    // of the archive
  std::vector<double> spare_;  // how well the best other one shows each; only of a limited archive
};

}  // namespace

std::unique_ptr<HistoryPolicy> make_overlap_retrieval(const RetrievalOptions& options) {
  return std::make_unique<OverlapRetrieval>(options);
}

}  // namespace loci::memory
