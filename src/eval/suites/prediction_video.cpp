// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/suites/prediction_video.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/io/media/resize.h"

namespace loci::eval {

namespace fs = std::filesystem;

fs::path prediction_file(const fs::path& folder, const EvalClips& clips, size_t clip) {
  return folder / (clips.clip(clip).name + ".mp4");
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
