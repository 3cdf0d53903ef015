// SPDX-License-Identifier: Apache-2.0
// Scores a predicted video like the official MIND scorer: frames are resized to 1280x720 and scored
// one by one; the value of a clip is the mean.
#pragma once

#include <filesystem>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/eval/metrics/image_metrics.h"
#include "loci/eval/mind/mind_data.h"
#include "loci/eval/suites/part_result.h"
#include "loci/model/perceptual/lpips.h"

namespace loci::eval {

struct MindScoring {
  // Whether to skip the last batch of up to 100 frames, which the official scorer reads but does
  // not score. 100 frames or fewer then give no value.
  bool compatible = false;
  SsimBorder border = SsimBorder::kMirrored;
  int64_t max_frames = 0;  // 0 = all; 480 = the first 20 s
};

// Values of every frame that exists in both videos, starting at frame `mark` of the recording.
struct MindFrames {
  std::vector<double> mse, psnr, ssim, lpips;  // lpips is empty without a network
};
MindFrames score_mind_frames(const std::filesystem::path& recording, int64_t mark, int64_t total,
                             const std::filesystem::path& prediction, const MindScoring& scoring,
                             const model::Lpips* lpips);

// Number of frames that count, out of `frames`.
int64_t scored_frames(int64_t frames, const MindScoring& scoring);

// Metrics mse, psnr, ssim and lpips of the whole prediction, and with suffix _20 of its first 20 s.
// Metrics without a counted frame are omitted.
MetricValues mind_values(const MindRecording& recording, const std::filesystem::path& prediction,
                         const MindScoring& scoring, const model::Lpips* lpips);

// Converts uint8 [H, W, 3] to FP32 [1, 720, 1280, 3] in [0, 1]: bilinear without antialiasing,
// scaled to cover the frame, cropped at the centre.
at::Tensor mind_frame(const at::Tensor& picture);

}  // namespace loci::eval
