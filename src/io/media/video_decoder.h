// SPDX-License-Identifier: Apache-2.0
// The video stream of a file as packets and as decoded frames. Used inside io only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "loci/io/media/ffmpeg.h"

namespace loci::io {

// An opened file, read packet by packet.
class VideoInput {
 public:
  explicit VideoInput(const std::filesystem::path& path);

  // The next packet of the stream, false at the end. A file that ends before its own index does is
  // bad input.
  bool read(AVPacket* packet);

  // Goes to the key frame at or before this decoding time, in units of the stream.
  void jump(int64_t decoding_time);

  [[noreturn]] void fail_damaged(int code) const;

  const std::string& name() const { return name_; }
  const AVStream& stream() const { return *stream_; }
  const AVFormatContext& format() const { return *format_; }
  const AVCodec* codec() const { return codec_; }

 private:
  std::string name_;
  ffmpeg::Input format_;
  AVStream* stream_ = nullptr;      // owned by format_
  const AVCodec* codec_ = nullptr;  // static in FFmpeg
  int64_t packets_ = 0;             // read without a jump
  bool jumped_ = false;
};

// The frames of a file in order of display.
class VideoDecoder {
 public:
  explicit VideoDecoder(const std::filesystem::path& path);

  // False at the end. The frame may be damaged, which does not matter to a caller that passes over
  // it.
  bool next(AVFrame* frame);

  void jump(int64_t decoding_time);

  const VideoInput& input() const { return input_; }

 private:
  VideoInput input_;
  ffmpeg::Codec codec_;
  ffmpeg::Packet packet_;
};

// The time of display of a decoded frame in units of the stream, or AV_NOPTS_VALUE.
int64_t display_time(const AVFrame& frame);

bool is_damaged(const AVFrame& frame);

}  // namespace loci::io
