// SPDX-License-Identifier: Apache-2.0
#include "loci/serve/videos/recorder.h"

#include <ATen/ATen.h>

#include "loci/serve/protocol/ids.h"
#include "loci/serve/walk/view.h"

namespace loci::serve {

at::Tensor even_frames(const at::Tensor& frames) {
  return frames.narrow(1, 0, frames.size(1) / 2 * 2)
      .narrow(2, 0, frames.size(2) / 2 * 2)
      .contiguous();
}

Recorder::Recorder(VideoStore& videos, const WorldFacts& world, int view, double seconds_limit)
    : view_(view), fps_(world.fps), most_frames_(static_cast<int64_t>(seconds_limit * world.fps)) {
  const int64_t width =
      view < 0 ? world.width * static_cast<int64_t>(world.views.size()) : world.width;
  const size_t named = view < 0 ? 0 : static_cast<size_t>(view);
  VideoInfo video;
  video.status = "in_progress";
  video.model = world.views.at(named).model;
  video.prompt = world.prompt;
  video.size = fmt::format("{}x{}", width / 2 * 2, world.height / 2 * 2);
  video.seconds = "0";
  video.world = world.id;
  folder_ = videos.create(std::move(video));
  io::VideoOptions options;
  options.fps = fps_;
  options.crf = 20;
  options.speed = "veryfast";
  writer_ = std::make_unique<io::VideoWriter>(folder_->content(), width / 2 * 2,
                                              world.height / 2 * 2, options);
}

void Recorder::add(const std::vector<at::Tensor>& frames) {
  if (folder_->gone()) return;
  const at::Tensor shown =
      even_frames(view_ < 0 ? at::cat(frames, 2) : frames.at(static_cast<size_t>(view_)));
  for (int64_t i = 0; i < shown.size(0) && !full(); ++i) {
    if (frames_ == 0) folder_->set_thumbnail(thumbnail_of(shown[i]));
    writer_->add(shown[i]);
    ++frames_;
  }
}

Json Recorder::finish(VideoStore& videos) {
  if (folder_->gone()) return {};
  if (frames_ == 0) {
    writer_.reset();
    videos.remove(folder_->id());
    return {};
  }
  writer_->finish();
  folder_->update({{"status", "completed"},
                   {"progress", 100},
                   {"completed_at", unix_time()},
                   {"frames", frames_},
                   {"seconds", fmt::format("{:.6g}", static_cast<double>(frames_) / fps_)}});
  return folder_->record();
}

}  // namespace loci::serve
