// SPDX-License-Identifier: Apache-2.0
// Scores of a continuation against the recording, taken while its frames arrive.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "loci/eval/suites/eval_clips.h"
#include "loci/eval/networks/networks.h"
#include "loci/eval/suites/part_result.h"
#include "loci/eval/suites/suite.h"

namespace loci::eval {

// Identical frames have no finite PSNR; they count as this many dB.
constexpr double kIdenticalPsnr = 120;

class ContinuationScores {
 public:
  // `clips` and `networks` must outlive this.
  ContinuationScores(const EvalClips& clips, size_t clip, const Networks& networks);

  // Frames of the continuation in order, `first` counted from the start of the recording.
  void add(int64_t first, const at::Tensor& frames);

  // mse, psnr, ssim, lpips (AlexNet) over the clip (one value); with _20 over its first 20 s, where
  // it is longer; with _revisit at revisits, with _context at those whose first visit was given
  // (what a model had to invent at its first visit, it cannot have as the recording has it), and
  // with _8_20, _20_60, _60 at those whose first visit is so many seconds before (a value each). At
  // revisits also sharpness_revisit, relative to the recording's, lpips_vgg, and from features, at
  // 60 of them at most: identity_dino and identity_clip, the cosine with the first visit, and
  // local_1, local_5, local_10, the worst 1, 5 and 10 % of patches against the recording, local_5
  // also by gap.
  MetricValues values() const;
  // "psnr" against seconds since the context, by whole seconds.
  std::vector<Curve> curves() const;
  // Two revisits, or else the last frame: recording, first visit, and this variant.
  std::vector<PictureRow> pictures(const std::string& variant) const;

 private:
  struct FrameScore {
    double mse = 0, psnr = 0, ssim = 0, lpips = 0;
  };
  // What is measured at revisits only; not a number where it is not.
  struct RevisitScore {
    double sharpness, lpips_vgg, identity_dino, identity_clip, local_1, local_5, local_10;
    RevisitScore();
  };
  void score_revisit(const camera::Revisit& revisit, const at::Tensor& frame,
                     const at::Tensor& truth);
  void keep_features(int64_t index, const at::Tensor& frame);
  at::Tensor recorded(int64_t first, int64_t count);
  double seconds_of(int64_t frame) const;

  const EvalClips* clips_;
  size_t index_;
  const EvalClip* clip_;
  std::vector<FrameScore> frames_;  // of the continuation
  const Networks* networks_;
  std::map<int64_t, RevisitScore> revisits_;          // by frame
  std::set<int64_t> featured_;                        // revisits whose features are compared
  std::set<int64_t> first_visits_;                    // theirs, as far as they are generated
  std::map<int64_t, at::Tensor> dino_, clip_vision_;  // global features of first visits
  std::map<int64_t, at::Tensor> shown_;               // generated frames for pictures
  std::vector<camera::Revisit> picked_;               // for pictures
  at::Tensor block_;                                  // recorded frames read ahead
  int64_t block_first_ = 0;
};

// All metrics above, in the order of tables; those that `networks` lack say so.
std::vector<Metric> continuation_metrics(const Networks& networks);
// Those of `keys`, in the order of `keys`.
std::vector<Metric> pick_metrics(const std::vector<Metric>& all,
                                 const std::vector<std::string>& keys);

}  // namespace loci::eval
