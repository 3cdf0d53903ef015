// SPDX-License-Identifier: Apache-2.0
// Scores a predicted video as MIND's own scorer does it: frames enlarged to 1280x720, per-frame
// values, their mean.
#pragma once

#include <filesystem>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/eval/metrics/image_metrics.h"
#include "loci/eval/networks/lpips.h"

namespace loci::eval {

struct MindScoring {
  // Leave out the frames that the official scorer reads but does not score: its last batch of up
  // to 100, so that 100 frames or less give nothing.
  bool compatible = false;
  SsimBorder border = SsimBorder::kMirrored;
  int64_t most_frames = 0;  // 0 = all; the first 20 s are 480
};

// Values of every frame that both videos have, from recording frame `mark` on.
struct MindFrames {
  std::vector<double> mse, psnr, ssim, lpips;  // the last empty without a network
};
MindFrames score_mind_frames(const std::filesystem::path& recording, int64_t mark, int64_t total,
                             const std::filesystem::path& prediction, const MindScoring& scoring,
                             const Lpips* lpips);

// How many of `frames` frames count.
int64_t scored_frames(int64_t frames, const MindScoring& scoring);

// uint8 [H, W, 3] to [0, 1] FP32 [1, 720, 1280, 3]: bilinear without antialiasing, to cover, cut at
// the centre.
at::Tensor mind_frame(const at::Tensor& picture);

}  // namespace loci::eval
