// SPDX-License-Identifier: Apache-2.0
// Scores a continuation against the recording while its frames arrive.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "loci/eval/networks/networks.h"
#include "loci/eval/suites/eval_clips.h"
#include "loci/eval/suites/part_result.h"
#include "loci/eval/suites/recorded_frames.h"
#include "loci/eval/suites/suite.h"

namespace loci::eval {

// PSNR in dB that identical frames count as, instead of infinity.
constexpr double kIdenticalPsnr = 120;

class ContinuationScores {
 public:
  // `clips` and `networks` must outlive this object.
  ContinuationScores(const EvalClips& clips, size_t clip, const Networks& networks);

  // Adds the next frames of the continuation; `first` counts from the start of the recording.
  void add(int64_t first, const at::Tensor& frames);

  // Metrics mse, psnr, ssim and lpips (AlexNet), by suffix:
  //   none                  mean over the clip, one value
  //   _20                   mean over the first 20 s, only for longer clips, one value
  //   _revisit              one value per revisit
  //   _context              one value per revisit whose first visit lies in the context. At the
  //                         others the first visit was generated, so that the recording cannot be
  //                         matched.
  //   _8_20, _20_60, _60    one value per revisit, by seconds since the first visit
  // Further metrics at revisits: sharpness_revisit (relative to the recording) and
  // lpips_vgg_revisit; at up to 60 revisits per clip (pick_instants()), from features:
  // identity_dino and identity_clip (cosine with the first visit) and local_1, local_5, local_10
  // (worst 1, 5 and 10 % of the patches compared with the recording), local_5 also by seconds since
  // the first visit; local_gap_8_20 is LPIPS of the frame minus local_5.
  MetricValues values() const;
  // Errors of the patches at these revisits, [37 * 21] by frame. Empty without DINOv2.
  const std::map<int64_t, at::Tensor>& patch_maps() const { return patch_maps_; }
  // Curve "psnr": mean PSNR of every second after the context.
  std::vector<Curve> curves() const;
  // Up to two revisits, or the last frame if there is none: first visit, recording and this
  // variant.
  std::vector<PictureRow> pictures(const std::string& variant) const;

 private:
  struct FrameScore {
    double mse = 0, psnr = 0, ssim = 0, lpips = 0;
  };
  // Measured at revisits only. NaN if not measured.
  struct RevisitScore {
    double sharpness, lpips_vgg, identity_dino, identity_clip, local_1, local_5, local_10;
    RevisitScore();
  };
  void score_revisit(const camera::Revisit& revisit, const at::Tensor& frame,
                     const at::Tensor& truth);
  void keep_features(int64_t index, const at::Tensor& frame);
  double seconds_of(int64_t frame) const;

  const EvalClips* clips_;
  size_t index_;
  const EvalClip* clip_;
  std::vector<FrameScore> frames_;  // one per frame of the continuation
  const Networks* networks_;
  std::map<int64_t, RevisitScore> revisits_;          // by frame
  std::set<int64_t> featured_;                        // revisits whose features are compared
  std::set<int64_t> first_visits_;                    // generated first visits of these revisits
  std::map<int64_t, at::Tensor> dino_, clip_vision_;  // global features of first visits
  std::map<int64_t, at::Tensor> patch_maps_;          // errors of patches, by frame
  std::map<int64_t, at::Tensor> shown_;               // generated frames for the report
  std::vector<camera::Revisit> picked_;               // revisits that the report shows
  RecordedFrames recorded_;
};

// Indices of at most `most` revisits, ascending: the gaps of kRevisitGaps have equal shares, as far
// as they have enough revisits; within a gap they are evenly spaced.
std::vector<size_t> pick_instants(const std::vector<camera::Revisit>& revisits, size_t most);

// Adds local_5_shared and local_5_shared_8_20 to the values of variants: their error over the worst
// 5 % of the patches of the mean over the variants. `maps` contains patch_maps() of every variant;
// `clip` gives the gaps.
void add_shared_errors(const EvalClip& clip, const std::vector<std::map<int64_t, at::Tensor>>& maps,
                       const std::vector<MetricValues*>& values);

// All metrics of ContinuationScores in table order. Metrics without weights have `absent` set.
std::vector<Metric> continuation_metrics(const Networks& networks);
// The metrics with these keys, in the order of `keys`.
std::vector<Metric> pick_metrics(const std::vector<Metric>& all,
                                 const std::vector<std::string>& keys);

}  // namespace loci::eval
