// SPDX-License-Identifier: Apache-2.0
// Owning pointers for FFmpeg's objects, and handling of its messages and errors. Internal to io.
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
// Closes the file, or frees the buffer of a custom AVIOContext (AVFMT_FLAG_CUSTOM_IO).
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

// A frame that owns its pixels, with rows padded for FFmpeg's vector code.
Frame make_picture(AVPixelFormat format, int width, int height);

// Number of threads for an encoder or decoder: that of libtorch, at most 16.
int thread_count();

// Redirects FFmpeg's messages from stderr to log_debug() and clears the last message of this
// thread. Must be called before other FFmpeg functions.
void start();

// The description of an error code and the last FFmpeg message of this thread, e.g. "Invalid data
// found when processing input (moov atom not found)".
std::string describe(int code);

// The file name as a URL, so that FFmpeg never interprets it as another protocol or a pattern.
std::string file_url(const std::filesystem::path& name);

}  // namespace loci::io::ffmpeg
