// SPDX-License-Identifier: Apache-2.0
// The video stream of a file as packets and as decoded frames. Internal to io.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "loci/io/media/ffmpeg.h"

namespace loci::io {

// An open file that is read packet by packet.
class VideoInput {
 public:
  explicit VideoInput(const std::filesystem::path& path);

  // Reads the next packet of the stream; false at the end. A file with fewer packets than its index
  // lists is bad input.
  bool read(AVPacket* packet);

  // Moves to the key frame at or before this decoding time, in units of the stream.
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
  int64_t packets_ = 0;             // packets read since the start without seeking
  bool jumped_ = false;
};

// The frames of a file in display order.
class VideoDecoder {
 public:
  explicit VideoDecoder(const std::filesystem::path& path);

  // Decodes the next frame; false at the end. The frame may be damaged, which is irrelevant for
  // callers that skip it.
  bool next(AVFrame* frame);

  void jump(int64_t decoding_time);

  const VideoInput& input() const { return input_; }

 private:
  VideoInput input_;
  ffmpeg::Codec codec_;
  ffmpeg::Packet packet_;
};

// The display time of a decoded frame in units of the stream, or AV_NOPTS_VALUE.
int64_t display_time(const AVFrame& frame);

bool is_damaged(const AVFrame& frame);

}  // namespace loci::io
