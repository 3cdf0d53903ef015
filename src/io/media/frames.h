// SPDX-License-Identifier: Apache-2.0
// Frames from and to a video file or a folder of numbered images, through one interface.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include <ATen/core/Tensor.h>

#include "loci/io/media/video.h"

namespace loci::io {

// By the suffix, in any case of letters.
bool is_image_name(const std::filesystem::path& name);
bool is_video_name(const std::filesystem::path& name);

// A sequence of frames of one size. Frames are images as in image.h.
class FrameSource {
 public:
  virtual ~FrameSource() = default;

  // A video file; a single image (one frame); or a folder of PNG and JPEG files whose names end in
  // a number (00000.png, frame_12.jpg), in order of that number, or with a subfolder `frames` of
  // such files. Images have no frame rate of their own: `image_fps` is what they get.
  static std::unique_ptr<FrameSource> open(const std::filesystem::path& path,
                                           double image_fps = 16);

  virtual int64_t width() const = 0;
  virtual int64_t height() const = 0;
  virtual double fps() const = 0;
  virtual int64_t frame_count() const = 0;

  // The next frame, or nothing at the end.
  virtual std::optional<at::Tensor> next() = 0;

  // Goes to exactly this frame, 0 to frame_count() (the end).
  virtual void seek(int64_t frame) = 0;
};

// Takes frames one by one; the output appears at finish(), all of it, or not at all.
class FrameSink {
 public:
  virtual ~FrameSink() = default;

  // A video when the name ends in .mp4, otherwise a folder of 00000.png, 00001.png, …
  static std::unique_ptr<FrameSink> create(const std::filesystem::path& path, int64_t width,
                                           int64_t height, const VideoOptions& options = {});

  virtual void add(const at::Tensor& frame) = 0;
  virtual void finish() = 0;
};

// All frames at once, [frames, height, width, 3]. A folder of that name is replaced when it holds
// nothing but such frames.
void write_frame_sequence(const std::filesystem::path& folder, const at::Tensor& frames);
void write_video(const std::filesystem::path& path, const at::Tensor& frames,
                 const VideoOptions& options = {});

// The first `limit` frames of a video or folder, [frames, height, width, 3].
at::Tensor read_frames(const std::filesystem::path& path,
                       int64_t limit = std::numeric_limits<int64_t>::max());

}  // namespace loci::io
