// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/mind/mind_scorer.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/eval/suites/continuation_scores.h"
#include "loci/io/media/video.h"

namespace loci::eval {

namespace {
constexpr int64_t kWidth = 1280, kHeight = 720;
constexpr int64_t kBatch = 100;
constexpr int64_t kFirstFrames = 480;  // 20 s
}  // namespace

at::Tensor mind_frame(const at::Tensor& picture) {
  const int64_t height = picture.size(0), width = picture.size(1);
  at::Tensor x = picture.to(at::kFloat).permute({2, 0, 1}).unsqueeze(0).contiguous();
  int64_t new_height = kHeight, new_width = kWidth;
  if (width * 9 != height * 16) {
    const double scale = std::max(static_cast<double>(kWidth) / static_cast<double>(width),
                                  static_cast<double>(kHeight) / static_cast<double>(height));
    // Rounds half to even, like Python.
    new_height = std::max(
        kHeight, static_cast<int64_t>(std::nearbyint(static_cast<double>(height) * scale)));
    new_width =
        std::max(kWidth, static_cast<int64_t>(std::nearbyint(static_cast<double>(width) * scale)));
  }
  if (new_height != height || new_width != width) {
    x = at::upsample_bilinear2d(x, {new_height, new_width}, /*align_corners=*/false);
  }
  x = x.narrow(2, (new_height - kHeight) / 2, kHeight).narrow(3, (new_width - kWidth) / 2, kWidth);
  return (x / 255).clamp(0, 1).permute({0, 2, 3, 1});
}

int64_t scored_frames(int64_t frames, const MindScoring& scoring) {
  if (scoring.max_frames > 0) frames = std::min(frames, scoring.max_frames);
  if (!scoring.compatible || frames <= 0) return std::max<int64_t>(0, frames);
  return ((frames + kBatch - 1) / kBatch - 1) * kBatch;
}

MindFrames score_mind_frames(const std::filesystem::path& recording, int64_t mark, int64_t total,
                             const std::filesystem::path& prediction, const MindScoring& scoring,
                             const model::Lpips* lpips) {
  io::VideoReader truth(recording), made(prediction);
  const int64_t frames = std::min({total - mark, made.frame_count(), truth.frame_count() - mark});
  if (frames < 1) {
    fail("{}: no frame to compare; {} has no frame {} or the prediction is empty",
         prediction.string(), recording.string(), mark);
  }
  truth.seek(mark);
  MindFrames scores;
  const int64_t count = scoring.max_frames > 0 ? std::min(frames, scoring.max_frames) : frames;
  for (int64_t i = 0; i < count; ++i) {
    check_interrupt();
    const std::optional<at::Tensor> a = made.next(), b = truth.next();
    if (!a || !b) fail("{}: the video ends at frame {}", (a ? recording : prediction).string(), i);
    const at::Tensor x = mind_frame(*a), y = mind_frame(*b);
    scores.mse.push_back(mse(x, y).front());
    scores.psnr.push_back(psnr_of(scores.mse.back()));
    scores.ssim.push_back(ssim(x, y, scoring.border).front());
    if (lpips != nullptr) scores.lpips.push_back(lpips->distance(x, y).front());
  }
  return scores;
}

MetricValues mind_values(const MindRecording& recording, const std::filesystem::path& prediction,
                         const MindScoring& scoring, const model::Lpips* lpips) {
  const MindFrames frames = score_mind_frames(recording.video, recording.mark_time,
                                              recording.total_time, prediction, scoring, lpips);
  MetricValues values;
  const auto add = [&](const std::string& key, const std::vector<double>& all, int64_t count) {
    if (all.empty() || count < 1) return;
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      sum += std::min(all[static_cast<size_t>(i)], kIdenticalPsnr);
    }
    values[key] = {sum / static_cast<double>(count)};
  };
  const int64_t total = std::ssize(frames.mse);
  MindScoring first = scoring;
  first.max_frames = kFirstFrames;
  const std::pair<std::string, int64_t> parts[] = {{"", scored_frames(total, scoring)},
                                                   {"_20", scored_frames(total, first)}};
  for (const auto& [suffix, count] : parts) {
    add("mse" + suffix, frames.mse, count);
    add("psnr" + suffix, frames.psnr, count);
    add("ssim" + suffix, frames.ssim, count);
    add("lpips" + suffix, frames.lpips, count);
  }
  return values;
}

}  // namespace loci::eval
