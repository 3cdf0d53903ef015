// SPDX-License-Identifier: Apache-2.0
// Owners for FFmpeg's objects, its messages, and its errors as ours. Used inside io only.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libavutil/frame.h>
#include <libswscale/swscale.h>
}

#include <filesystem>
#include <memory>
#include <string>

namespace loci::io::ffmpeg {

struct Deleter {
  void operator()(AVCodecContext* codec) const { avcodec_free_context(&codec); }
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
  void operator()(SwsContext* converter) const { sws_freeContext(converter); }
};
struct InputDeleter {
  void operator()(AVFormatContext* format) const { avformat_close_input(&format); }
};
// Closes its file, or frees the buffer behind an AVIOContext of our own (AVFMT_FLAG_CUSTOM_IO).
struct OutputDeleter {
  void operator()(AVFormatContext* format) const;
};
using Input = std::unique_ptr<AVFormatContext, InputDeleter>;
using Output = std::unique_ptr<AVFormatContext, OutputDeleter>;
using Codec = std::unique_ptr<AVCodecContext, Deleter>;
using Frame = std::unique_ptr<AVFrame, Deleter>;
using Packet = std::unique_ptr<AVPacket, Deleter>;
using Converter = std::unique_ptr<SwsContext, Deleter>;

Codec make_codec(const AVCodec* codec);
Frame make_frame();
Packet make_packet();

// A frame with pixels of its own, rows padded as FFmpeg's vector code wants them.
Frame make_picture(AVPixelFormat format, int width, int height);

// Threads for an encoder or decoder: as many as tensors may use, at most 16.
int thread_count();

// From now on FFmpeg's messages go to log_debug() instead of stderr. Every entry into FFmpeg calls
// it first; it also forgets the last message of this thread.
void start();

// "Invalid data found when processing input (moov atom not found)": the meaning of a code and the
// last error message FFmpeg gave on this thread.
std::string describe(int code);

// `name` of a file as FFmpeg's opener takes it: never as a URL or a pattern.
std::string file_url(const std::filesystem::path& name);

}  // namespace loci::io::ffmpeg
