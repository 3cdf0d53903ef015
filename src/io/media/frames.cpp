// SPDX-License-Identifier: Apache-2.0
#include "loci/io/media/frames.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/base/text.h"
#include "loci/io/media/image.h"

namespace loci::io {

namespace fs = std::filesystem;

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The number at the end of the name of an image, without the suffix.
std::optional<int64_t> frame_number(const fs::path& name) {
  const std::string stem = name.stem().string();
  size_t start = stem.size();
  while (start > 0 && is_digit(stem[start - 1])) --start;
  return parse_int(std::string_view(stem).substr(start));
}

// Ignores hidden files, such as thumbnails.
bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

std::vector<fs::path> list_frames(const fs::path& folder) {
  std::vector<std::pair<int64_t, fs::path>> numbered;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path& path = entry.path();
    if (is_hidden(path) || !is_image_name(path)) continue;
    const std::optional<int64_t> number = frame_number(path);
    if (!number) {
      fail(
          "{}: the name does not end in a frame number of at most 18 digits; rename the file, e.g. "
          "to 00000.png, or move it to another folder",
          path.string());
    }
    numbered.emplace_back(*number, path);
  }
  std::sort(numbered.begin(), numbered.end());
  for (size_t i = 1; i < numbered.size(); ++i) {
    const auto& [before, before_path] = numbered[i - 1];
    const auto& [number, path] = numbered[i];
    if (number == before) {
      fail("{} and {} have the same frame number; remove one of them", before_path.string(),
           path.filename().string());
    }
  }
  std::vector<fs::path> paths;
  for (auto& [number, path] : numbered) paths.push_back(std::move(path));
  if (!paths.empty() &&
      numbered.back().first - numbered.front().first != static_cast<int64_t>(paths.size()) - 1) {
    log_warning("{}: the frame numbers have gaps; the {} files are used in order", folder.string(),
                paths.size());
  }
  return paths;
}

class ImageSource : public FrameSource {
 public:
  ImageSource(std::vector<fs::path> paths, double fps) : paths_(std::move(paths)), fps_(fps) {
    const at::Tensor first = read_image(paths_.front());
    width_ = first.size(1);
    height_ = first.size(0);
  }

  int64_t width() const override { return width_; }
  int64_t height() const override { return height_; }
  double fps() const override { return fps_; }
  int64_t frame_count() const override { return static_cast<int64_t>(paths_.size()); }

  std::optional<at::Tensor> next() override {
    if (position_ == frame_count()) return std::nullopt;
    const fs::path& path = paths_[position_++];
    at::Tensor image = read_image(path);
    if (image.size(1) != width_ || image.size(0) != height_) {
      fail(
          "{}: {} x {} pixels, but the first frame has {} x {}; all frames must have the same size",
          path.string(), image.size(1), image.size(0), width_, height_);
    }
    return image;
  }

  void seek(int64_t frame) override {
    if (frame < 0 || frame > frame_count()) {
      fail("{}: there is no frame {}; the folder has {} frames",
           paths_.front().parent_path().string(), frame, frame_count());
    }
    position_ = frame;
  }

 private:
  std::vector<fs::path> paths_;
  double fps_;
  int64_t width_ = 0, height_ = 0;
  int64_t position_ = 0;
};

class VideoSource : public FrameSource {
 public:
  explicit VideoSource(const fs::path& path) : reader_(path) {}

  int64_t width() const override { return reader_.width(); }
  int64_t height() const override { return reader_.height(); }
  double fps() const override { return reader_.fps(); }
  int64_t frame_count() const override { return reader_.frame_count(); }
  std::optional<at::Tensor> next() override { return reader_.next(); }
  void seek(int64_t frame) override { reader_.seek(frame); }

 private:
  VideoReader reader_;
};

// Whether ImageSink creates files with this name.
bool is_own_name(const fs::path& name) {
  const std::string stem = name.stem().string();
  return name.extension() == ".png" && stem.size() >= 5 &&
         std::all_of(stem.begin(), stem.end(), is_digit);
}

// Only a folder of frames may be replaced, so that a wrong name does not delete other files.
void check_replaceable(const fs::path& folder) {
  if (!fs::is_directory(folder)) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!entry.is_regular_file() || !is_own_name(entry.path())) {
      fail(
          "cannot write frames to {}: the folder contains {}, which is not a frame; choose another "
          "folder",
          folder.string(), entry.path().filename().string());
    }
  }
}

class ImageSink : public FrameSink {
 public:
  ImageSink(const fs::path& folder, int64_t width, int64_t height)
      : width_(width), height_(height) {
    check_image_size(width, height, folder.string());
    check_replaceable(folder);
    output_.emplace(folder, AtomicDirectory::Existing::kReplace);
  }

  void add(const at::Tensor& frame) override {
    LOCI_CHECK(frame.dim() == 3 && frame.size(1) == width_ && frame.size(0) == height_,
               "{}: frame {} is not {} x {} pixels", output_->path().string(), count_, width_,
               height_);
    write_png(output_->temporary() / fmt::format("{:05}.png", count_++), frame);
  }

  void finish() override {
    if (count_ == 0) fail("cannot write {}: there are no frames", output_->path().string());
    check_replaceable(output_->path());  // files may have been added in the meantime
    output_->commit();
  }

 private:
  std::optional<AtomicDirectory> output_;
  int64_t width_, height_;
  int64_t count_ = 0;
};

class VideoSink : public FrameSink {
 public:
  VideoSink(const fs::path& path, int64_t width, int64_t height, const VideoOptions& options)
      : writer_(path, width, height, options) {}

  void add(const at::Tensor& frame) override { writer_.add(frame); }
  void finish() override { writer_.finish(); }

 private:
  VideoWriter writer_;
};

void write_all(FrameSink& sink, const at::Tensor& frames) {
  for (int64_t i = 0; i < frames.size(0); ++i) {
    check_interrupt();
    sink.add(frames[i]);
  }
  sink.finish();
}

void check_frames(const at::Tensor& frames) {
  LOCI_CHECK(frames.dim() == 4 && frames.size(3) == 3,
             "frames have {} dimensions, expected [frames, height, width, 3]", frames.dim());
}

}  // namespace

bool is_image_name(const fs::path& name) {
  const std::string suffix = lower(name.extension().string());
  return suffix == ".png" || suffix == ".jpg" || suffix == ".jpeg";
}

bool is_video_name(const fs::path& name) {
  const std::string suffix = lower(name.extension().string());
  return suffix == ".mp4" || suffix == ".mov" || suffix == ".mkv" || suffix == ".webm" ||
         suffix == ".avi" || suffix == ".m4v";
}

std::unique_ptr<FrameSource> FrameSource::open(const fs::path& path, double image_fps) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    std::vector<fs::path> paths = list_frames(path);
    if (paths.empty() && fs::is_directory(path / "frames", ignored)) {
      paths = list_frames(path / "frames");
    }
    if (paths.empty()) {
      fail("{}: there are no frames in this folder; expected 00000.png, 00001.png, … or .jpg",
           path.string());
    }
    return std::make_unique<ImageSource>(std::move(paths), image_fps);
  }
  if (is_image_name(path)) return std::make_unique<ImageSource>(std::vector{path}, image_fps);
  return std::make_unique<VideoSource>(path);
}

std::unique_ptr<FrameSink> FrameSink::create(const fs::path& path, int64_t width, int64_t height,
                                             const VideoOptions& options) {
  if (path.extension() == ".mp4") {
    return std::make_unique<VideoSink>(path, width, height, options);
  }
  return std::make_unique<ImageSink>(path, width, height);
}

void write_frame_sequence(const fs::path& folder, const at::Tensor& frames) {
  check_frames(frames);
  ImageSink sink(folder, frames.size(2), frames.size(1));
  write_all(sink, frames);
}

void write_video(const fs::path& path, const at::Tensor& frames, const VideoOptions& options) {
  check_frames(frames);
  VideoSink sink(path, frames.size(2), frames.size(1), options);
  write_all(sink, frames);
}

}  // namespace loci::io
