// SPDX-License-Identifier: Apache-2.0
// One interface to read and write frames as a video file or as a folder of numbered images.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include <ATen/core/Tensor.h>

#include "loci/io/media/video.h"

namespace loci::io {

// By the suffix, case-insensitive.
bool is_image_name(const std::filesystem::path& name);
bool is_video_name(const std::filesystem::path& name);

// A sequence of frames of equal size. Frames are images as in image.h.
class FrameSource {
 public:
  virtual ~FrameSource() = default;

  // Opens a video file, a single image (one frame), or a folder of PNG and JPEG files whose names
  // end in a number (00000.png, frame_12.jpg), in the order of that number. The files may also be
  // in the subfolder `frames`. `image_fps` is the frame rate of images.
  static std::unique_ptr<FrameSource> open(const std::filesystem::path& path,
                                           double image_fps = 16);

  virtual int64_t width() const = 0;
  virtual int64_t height() const = 0;
  virtual double fps() const = 0;
  virtual int64_t frame_count() const = 0;

  // The next frame; nullopt at the end.
  virtual std::optional<at::Tensor> next() = 0;

  // Moves to frame 0 to frame_count() (the end).
  virtual void seek(int64_t frame) = 0;
};

// Receives frames one by one. finish() creates the complete output; without it nothing is created.
class FrameSink {
 public:
  virtual ~FrameSink() = default;

  // A video if the name ends in .mp4, otherwise a folder of 00000.png, 00001.png, …
  static std::unique_ptr<FrameSink> create(const std::filesystem::path& path, int64_t width,
                                           int64_t height, const VideoOptions& options = {});

  virtual void add(const at::Tensor& frame) = 0;
  virtual void finish() = 0;
};

// Writes frames [frames, height, width, 3]. An existing folder is replaced only if it contains
// nothing but such frames.
void write_frame_sequence(const std::filesystem::path& folder, const at::Tensor& frames);
void write_video(const std::filesystem::path& path, const at::Tensor& frames,
                 const VideoOptions& options = {});

}  // namespace loci::io
