// SPDX-License-Identifier: Apache-2.0
// Video files: H.264 in MP4 written, anything FFmpeg decodes read, frame by frame.
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
  int crf = 18;  // x264's quality: 0 (best) to 51
  // Keeps RGB bit for bit, for metrics, at any size (crf is ignored). It is H.264 in RGB, which
  // players built on FFmpeg show and browsers do not.
  bool lossless = false;
  std::string speed = "medium";  // x264's presets, "ultrafast" to "veryslow"
  // Pieces that play on their own as they arrive, instead of an index before the data.
  bool fragmented = false;
};

// Writes H.264 High, yuv420p, BT.709 (limited range, tagged so), at a constant frame rate, with the
// index in front so that playing starts before the download ends.
//
// Both sides must be even, as half-resolution colour demands; odd sizes are bad input rather than
// padded, since frames read back would differ in size from those written. lossless takes any size.
class VideoWriter {
 public:
  // The file appears at finish(); a writer destroyed before leaves nothing behind. The name must
  // end in .mp4.
  VideoWriter(const std::filesystem::path& path, int64_t width, int64_t height,
              VideoOptions options = {});

  // For streaming: a fragmented file is handed to `sink` piece by piece as it grows: the codec's
  // set-up during construction, then frames every two seconds and whenever flush() asks for them.
  using Sink = std::function<void(std::span<const std::byte>)>;
  VideoWriter(Sink sink, int64_t width, int64_t height, VideoOptions options = {});

  ~VideoWriter();
  VideoWriter(VideoWriter&&) noexcept;
  VideoWriter& operator=(VideoWriter&&) noexcept;

  void add(const at::Tensor& frame);

  // Streams only: everything added so far reaches the sink now, and the next frame starts afresh.
  void flush();

  // Once, after at least one frame.
  void finish();

  int64_t frame_count() const;  // added so far

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Reads the first video stream of a file. Every coded frame comes out once, in order of display,
// also when the frame rate varies. Rotation metadata (phones) is applied in steps of 90 degrees;
// pixel aspect is ignored. Colours follow the file's tags; without tags they count as BT.601,
// limited range, which is what tools write that do not tag (OpenCV, imageio).
//
// A damaged or truncated file is bad input, found when the damage is reached.
class VideoReader {
 public:
  explicit VideoReader(const std::filesystem::path& path);
  ~VideoReader();
  VideoReader(VideoReader&&) noexcept;
  VideoReader& operator=(VideoReader&&) noexcept;

  int64_t width() const;
  int64_t height() const;
  double fps() const;  // the average when it varies

  // Exact: counted, not taken from the header. The first call of this, frame_times() or seek()
  // reads the file through once, without decoding unless the codec has frames that are never shown.
  int64_t frame_count() const;

  // Seconds from the first frame, one per frame.
  const std::vector<double>& frame_times() const;

  // The frame at position(), or nothing at the end.
  std::optional<at::Tensor> next();

  // Passes over up to `count` frames; gives the number passed.
  int64_t skip(int64_t count);

  // Goes to exactly this frame, 0 to frame_count() (the end).
  void seek(int64_t frame);

  int64_t position() const;  // index of the frame that next() gives

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace loci::io
