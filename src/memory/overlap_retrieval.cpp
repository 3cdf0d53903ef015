// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/coverage.h"
#include "loci/memory/retrieval_history.h"

namespace loci::memory {

namespace {

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
      const camera::View wanted = seen(view);
      std::vector<double>& row = scores.emplace_back();
      for (const camera::View& source : views_) {
        const camera::View* const others[] = {&source};
        const double share = camera::coverage(wanted, others, options().radius);
        // A near one sees the same from almost the same side.
        const double away = camera::norm(wanted.position - source.position);
        row.push_back(share > 0 ? share * (1 - away / options().radius) : kNever);
      }
    }
    return scores;
  }
  void added() override { views_.push_back(seen(archive().back())); }
  void erased(size_t place) override {
    views_.erase(views_.begin() + static_cast<std::ptrdiff_t>(place));
  }

 private:
  camera::View seen(const FrameView& view) const {
    return {camera::view_mask(view.pose, view.lens, options().aspect), view.pose.position};
  }

  std::vector<camera::View> views_;  // of the archive
};

}  // namespace

std::unique_ptr<HistoryPolicy> make_overlap_retrieval(const RetrievalOptions& options) {
  return std::make_unique<OverlapRetrieval>(options);
}

}  // namespace loci::memory
