// SPDX-License-Identifier: Apache-2.0
// Compares both visits of places that a continuation shows twice and the context does not show.
#pragma once

#include <map>
#include <vector>

#include "loci/eval/networks/networks.h"
#include "loci/eval/suites/eval_clips.h"
#include "loci/eval/suites/part_result.h"

namespace loci::eval {

class VisitPairs {
 public:
  // `clips` and `networks` must outlive this object.
  VisitPairs(const EvalClips& clips, size_t clip, const Networks& networks);

  // Adds the next frames of the continuation and the recorded ones, uint8 [frames, H, W, 3].
  void add(int64_t first, const at::Tensor& generated, const at::Tensor& recorded);

  // One value per revisit whose first visit was generated: psnr_visits and lpips_visits between the
  // two generated frames, psnr_visits_recorded and lpips_visits_recorded between the two recorded
  // ones. The frame of the first visit with the closest view (camera::closest_of_first_visit) is
  // rotated to the view of the revisit. Pixels that only one of them shows do not count.
  MetricValues values() const { return values_; }

 private:
  struct Frames {
    at::Tensor generated, recorded;  // uint8 [H, W, 3]
  };
  void compare(int64_t earlier, const Frames& then, int64_t frame, const Frames& now);

  const EvalClip* clip_;
  const Networks* networks_;
  std::map<int64_t, int64_t> earlier_;  // frame of the first visit, by frame of the revisit
  std::map<int64_t, Frames> first_visits_;
  MetricValues values_;
};

}  // namespace loci::eval
