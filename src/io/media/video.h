// SPDX-License-Identifier: Apache-2.0
// Video files: writes H.264 in MP4 and reads every format that FFmpeg decodes, frame by frame.
//
// A frame is an image as in image.h: uint8 [height, width, 3], RGB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::io {

struct VideoOptions {
  double fps = 16;
  int crf = 18;  // constant rate factor of x264: 0 (best) to 51
  // Lossless H.264 in RGB at any size, for metrics; crf is ignored. Players based on FFmpeg support
  // it, browsers do not.
  bool lossless = false;
  std::string speed = "medium";  // preset of x264, "ultrafast" to "veryslow"
  // Fragmented MP4, which can be played while it is written, instead of one index before the data.
  bool fragmented = false;
};

// Writes H.264 High, yuv420p, BT.709 (limited range, tagged) at a constant frame rate. The index
// precedes the data, so that playback can start before the download is complete.
//
// Both sides must be even because of half-resolution colour. Odd sizes are bad input and not
// padded, since the frames that are read back would have another size. `lossless` allows any size.
class VideoWriter {
 public:
  // finish() creates the file; without it nothing remains.
  // The name must end in .mp4.
  VideoWriter(const std::filesystem::path& path, int64_t width, int64_t height,
              VideoOptions options = {});

  // For streaming: passes the parts of a fragmented file to `sink`. The constructor passes the
  // codec setup; frames follow every two seconds and at flush().
  using Sink = std::function<void(std::span<const std::byte>)>;
  VideoWriter(Sink sink, int64_t width, int64_t height, VideoOptions options = {});

  ~VideoWriter();
  VideoWriter(VideoWriter&&) noexcept;
  VideoWriter& operator=(VideoWriter&&) noexcept;

  void add(const at::Tensor& frame);

  // Streams only: passes all frames so far to the sink. The next frame is a key frame.
  void flush();

  // Must be called once, after at least one frame.
  void finish();

  int64_t frame_count() const;  // number of added frames

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Reads the first video stream of a file. Returns every coded frame once, in display order, also
// for variable frame rates. Rotation metadata is applied in steps of 90 degrees; the pixel aspect
// ratio is ignored. Colours follow the tags of the file. Without tags they are BT.601, limited
// range, as written by tools without tags (OpenCV, imageio).
//
// A damaged or truncated file is bad input, which is reported when the damage is reached.
class VideoReader {
 public:
  explicit VideoReader(const std::filesystem::path& path);
  ~VideoReader();
  VideoReader(VideoReader&&) noexcept;
  VideoReader& operator=(VideoReader&&) noexcept;

  int64_t width() const;
  int64_t height() const;
  double fps() const;  // the average for variable frame rates

  // Exact, independent of the header. The first call of frame_count(), frame_times() or seek()
  // reads the whole file. It decodes only if the codec can have frames that are not displayed.
  int64_t frame_count() const;

  // Time of each frame in seconds since the first frame.
  const std::vector<double>& frame_times() const;

  // The frame at position(); nullopt at the end.
  std::optional<at::Tensor> next();

  // Skips up to `count` frames and returns the number of skipped frames.
  int64_t skip(int64_t count);

  // Moves to frame 0 to frame_count() (the end).
  void seek(int64_t frame);

  int64_t position() const;  // index of the frame that next() returns

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace loci::io
