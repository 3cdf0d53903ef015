// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loci/memory/history/retrieval_history.h"

namespace loci::memory {

namespace {

class Landmarks : public RetrievalHistory {
 public:
  using RetrievalHistory::RetrievalHistory;

  std::string_view name() const override { return "landmarks"; }
  std::unique_ptr<HistoryPolicy> clone() const override {
    return std::make_unique<Landmarks>(*this);
  }

 protected:
  std::vector<std::vector<double>> rank(std::span<const FrameView> upcoming) const override {
    std::vector<std::vector<double>> scores;
    for (const FrameView& view : upcoming) {
      std::vector<double>& row = scores.emplace_back();
      for (const FrameView& landmark : archive()) row.push_back(-distance(view, landmark));
    }
    return scores;
  }

  bool joins(const FrameView& view) const override {
    return std::all_of(archive().begin(), archive().end(), [&](const FrameView& landmark) {
      return metres(view, landmark) >= options().landmark_distance ||
             turn(view, landmark) >= options().landmark_turn;
    });
  }

  size_t least_wanted() const override {
    size_t worst = 0;
    double nearest = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < archive().size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const double apart = distance(archive()[i], archive()[j]);
        if (apart < nearest) {
          nearest = apart;
          worst = i;  // the newer of the two
        }
      }
    }
    return worst;
  }

 private:
  static double metres(const FrameView& a, const FrameView& b) {
    return camera::norm(a.pose.position - b.pose.position);
  }
  static double turn(const FrameView& a, const FrameView& b) {
    return camera::angle_between(a.pose.rotation, b.pose.rotation);
  }
  // In units of what makes a new landmark.
  double distance(const FrameView& a, const FrameView& b) const {
    return metres(a, b) / options().landmark_distance + turn(a, b) / options().landmark_turn;
  }
};

}  // namespace

std::unique_ptr<HistoryPolicy> make_landmarks(const RetrievalOptions& options) {
  return std::make_unique<Landmarks>(options);
}

}  // namespace loci::memory
