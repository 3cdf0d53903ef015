// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loci/camera/visible_directions.h"
#include "loci/memory/history/retrieval_history.h"

namespace loci::memory {

namespace {

class OverlapHistory : public RetrievalHistory {
 public:
  OverlapHistory(const RetrievalOptions& options, const OverlapWeights& weights)
      : RetrievalHistory(options), weights_(weights) {}

  std::string_view name() const override {
    return weights_.generated == 1 && !weights_.distance ? "plain_overlap" : "overlap";
  }
  std::unique_ptr<HistoryPolicy> clone() const override {
    return std::make_unique<OverlapHistory>(*this);
  }

 protected:
  std::vector<std::vector<double>> scores(std::span<const HistoryFrame> upcoming) const override {
    std::vector<std::vector<double>> scores;
    for (const HistoryFrame& frame : upcoming) {
      const WeightedView target = view_of(frame);
      std::vector<double>& row = scores.emplace_back();
      for (const WeightedView& source : views_) {
        const double share = overlap(source, target);
        row.push_back(share > 0 ? share : kNever);
      }
    }
    return scores;
  }

  // The newest of the frames that others cover best, so that every place stays in the archive, if
  // from fewer positions. Without any overlap the oldest frame.
  size_t to_drop() const override {
    size_t place = 0;
    for (size_t i = 1; i < redundancy_.size(); ++i) {
      if (redundancy_[i] > 0 && redundancy_[i] >= redundancy_[place]) place = i;
    }
    return place;
  }

  void added() override {
    views_.push_back(view_of(archive().back()));
    if (options().archive_frames == 0) return;  // no frame will be dropped
    const WeightedView& added = views_.back();
    for (size_t i = 0; i + 1 < views_.size(); ++i) {
      redundancy_[i] = std::max(redundancy_[i], overlap(added, views_[i]));
    }
    redundancy_.push_back(best_overlap(views_.size() - 1));
  }
  void erased(size_t place) override {
    const WeightedView gone = views_[place];
    views_.erase(views_.begin() + static_cast<std::ptrdiff_t>(place));
    if (redundancy_.empty()) return;
    redundancy_.erase(redundancy_.begin() + static_cast<std::ptrdiff_t>(place));
    for (size_t i = 0; i < views_.size(); ++i) {
      if (overlap(gone, views_[i]) == redundancy_[i]) redundancy_[i] = best_overlap(i);
    }
  }

 private:
  struct WeightedView {
    camera::VisibleDirections view;
    double weight = 1;  // as a source
  };
  WeightedView view_of(const HistoryFrame& frame) const {
    return {camera::visible_directions(frame.camera, options().aspect),
            frame.origin == Origin::kGenerated ? weights_.generated : 1};
  }
  // Share of the target's directions that the source covers, times its weights. 0 to 1.
  double overlap(const WeightedView& source, const WeightedView& target) const {
    const camera::VisibleDirections* const others[] = {&source.view};
    const double share = source.weight * camera::coverage(target.view, others, options().radius);
    if (!weights_.distance) return share;
    const double away = camera::norm(target.view.position - source.view.position);
    return share * std::max(0.0, 1 - away / options().radius);
  }
  double best_overlap(size_t place) const {
    double best = 0;
    for (size_t i = 0; i < views_.size(); ++i) {
      if (i != place) best = std::max(best, overlap(views_[i], views_[place]));
    }
    return best;
  }

  OverlapWeights weights_;
  std::vector<WeightedView> views_;  // of the archived frames
  // Highest overlap of another archived frame with each one; empty if the archive has no limit.
  std::vector<double> redundancy_;
};

}  // namespace

std::unique_ptr<HistoryPolicy> make_overlap_history(const RetrievalOptions& options,
                                                    const OverlapWeights& weights) {
  return std::make_unique<OverlapHistory>(options, weights);
}

std::unique_ptr<HistoryPolicy> make_overlap_history(const RetrievalOptions& options) {
  return make_overlap_history(options, OverlapWeights());
}

}  // namespace loci::memory
