// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loci/memory/history/retrieval_history.h"

namespace loci::memory {

namespace {

class LandmarksHistory : public RetrievalHistory {
 public:
  using RetrievalHistory::RetrievalHistory;

  std::string_view name() const override { return "landmarks"; }
  std::unique_ptr<HistoryPolicy> clone() const override {
    return std::make_unique<LandmarksHistory>(*this);
  }

 protected:
  std::vector<std::vector<double>> scores(std::span<const HistoryFrame> upcoming) const override {
    std::vector<std::vector<double>> scores;
    for (const HistoryFrame& frame : upcoming) {
      std::vector<double>& row = scores.emplace_back();
      for (const HistoryFrame& landmark : archive()) row.push_back(-distance(frame, landmark));
    }
    return scores;
  }

  bool is_archived(const HistoryFrame& frame) const override {
    return std::all_of(archive().begin(), archive().end(), [&](const HistoryFrame& landmark) {
      return metres(frame, landmark) >= options().landmark_distance ||
             turn(frame, landmark) >= options().landmark_turn;
    });
  }

  size_t to_drop() const override {
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
  static double metres(const HistoryFrame& a, const HistoryFrame& b) {
    return camera::norm(a.camera.pose.position - b.camera.pose.position);
  }
  static double turn(const HistoryFrame& a, const HistoryFrame& b) {
    return camera::angle_between(a.camera.pose.rotation, b.camera.pose.rotation);
  }
  // In units of the minimum distance and the minimum rotation between landmarks.
  double distance(const HistoryFrame& a, const HistoryFrame& b) const {
    return metres(a, b) / options().landmark_distance + turn(a, b) / options().landmark_turn;
  }
};

}  // namespace

std::unique_ptr<HistoryPolicy> make_landmarks_history(const RetrievalOptions& options) {
  return std::make_unique<LandmarksHistory>(options);
}

}  // namespace loci::memory
