// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/suites/prediction_video.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/eval/mind/mind_scorer.h"
#include "loci/eval/suites/continuation_suite.h"
#include "loci/io/media/resize.h"

namespace loci::eval {

namespace fs = std::filesystem;

fs::path prediction_file(const fs::path& folder, const EvalClips& clips, size_t clip) {
  const std::string& name = clips.clip(clip).name;
  const fs::path plain = folder / (name + ".mp4");
  if (fs::exists(plain)) return plain;
  if (name.starts_with("1st_data/") || name.starts_with("3rd_data/")) {
    return folder / name / "video.mp4";
  }
  constexpr std::string_view kOwnPath = ", recorded";
  if (name.ends_with(kOwnPath)) {
    const fs::path whole = folder / (name.substr(0, name.size() - kOwnPath.size()) + ".mp4");
    if (fs::exists(whole)) return whole;
  }
  return plain;
}

void check_predictions(const std::vector<ModelChoice>& folders, const EvalClips& clips) {
  for (const ModelChoice& folder : folders) {
    bool any = false;
    for (size_t clip = 0; clip < clips.size() && !any; ++clip) {
      any = fs::exists(prediction_file(folder.path, clips, clip));
    }
    if (!any) {
      fail("--predictions: {} has no video of any clip; expected files such as {}",
           folder.path.string(), prediction_file(folder.path, clips, 0).string());
    }
  }
}

ClipFormat format_of(const std::vector<ModelChoice>& models,
                     const std::vector<ModelChoice>& predictions, const Sampling& sampling) {
  if (!models.empty() || predictions.empty()) return common_format(models, sampling);
  ClipFormat format = prediction_format(predictions.front().path);
  format.width = sampling.width.value_or(format.width);
  format.height = sampling.height.value_or(format.height);
  return format;
}

ClipFormat prediction_format(const fs::path& folder) {
  if (!fs::is_directory(folder)) fail("--predictions: {} is not a folder", folder.string());
  std::optional<fs::path> first;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".mp4" && (!first || entry.path() < *first)) {
      first = entry.path();
    }
  }
  if (!first) {
    fail("--predictions: {} contains no videos; expected one .mp4 file per recording",
         folder.string());
  }
  const io::VideoReader video(*first);
  ClipFormat format;
  format.width = video.width();
  format.height = video.height();
  format.fps = video.fps();
  return format;
}

void replay_mind_prediction(const fs::path& video, const EvalClips& clips, size_t clip,
                            double stride, const Continuation::FrameSink& take) {
  const EvalClip& path = clips.clip(clip);
  const ClipFormat& format = clips.format();
  io::VideoReader reader(video);
  const int64_t block = format.grid.frames_per_chunk();
  int64_t decoded = 0;
  for (int64_t at = 0; at < path.new_frames(); at += block) {
    check_interrupt();
    std::vector<at::Tensor> frames;
    for (int64_t i = at; i < std::min(at + block, path.new_frames()); ++i) {
      const int64_t wanted = std::llround(static_cast<double>(i) * stride);
      decoded += reader.skip(wanted - decoded);
      const std::optional<at::Tensor> picture = reader.next();
      if (!picture) break;
      ++decoded;
      const at::Tensor scored = mind_frame(*picture)[0].mul(255).round().to(at::kByte).contiguous();
      frames.push_back(format.stretch
                           ? io::resize_image(scored, format.width, format.height)
                           : io::resize_and_crop(scored, format.width, format.height).image);
    }
    if (frames.empty()) return;
    take(path.context_frames + at, at::stack(frames));
  }
}

void replay_prediction(const fs::path& video, const EvalClips& clips, size_t clip,
                       const Continuation::FrameSink& take) {
  const EvalClip& path = clips.clip(clip);
  const ClipFormat& format = clips.format();
  io::VideoReader reader(video);
  const double step = reader.fps() / format.fps;
  const int64_t block = format.grid.frames_per_chunk();
  std::optional<at::Tensor> picture;
  int64_t decoded = 0;  // frames of the video read so far
  for (int64_t at = 0; at < path.new_frames(); at += block) {
    check_interrupt();
    std::vector<at::Tensor> frames;
    for (int64_t i = at; i < std::min(at + block, path.new_frames()); ++i) {
      for (const int64_t wanted = std::llround(static_cast<double>(i) * step); decoded <= wanted;
           ++decoded) {
        picture = reader.next();
        if (!picture) {
          fail("{}: {} frames; expected {:.4g} s of frames after the context of {} frames",
               video.string(), decoded, static_cast<double>(path.new_frames()) / format.fps,
               path.context_frames);
        }
      }
      frames.push_back(io::resize_and_crop(*picture, format.width, format.height).image);
    }
    take(path.context_frames + at, at::stack(frames));
  }
}

PredictionWriter::PredictionWriter(const fs::path& folder, const EvalClips& clips, size_t clip) {
  const fs::path file = prediction_file(folder, clips, clip);
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) {
    fail("{}: cannot create the folder: {}", file.parent_path().string(), error.message());
  }
  io::VideoOptions options;
  options.fps = clips.format().fps;
  options.lossless = true;
  writer_ =
      std::make_unique<io::VideoWriter>(file, clips.format().width, clips.format().height, options);
}

void PredictionWriter::add(const at::Tensor& frames) {
  for (const at::Tensor& frame : frames.unbind(0)) writer_->add(frame);
}

}  // namespace loci::eval
