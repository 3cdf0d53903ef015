// SPDX-License-Identifier: Apache-2.0
#include "loci/io/media/ffmpeg.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <mutex>
#include <string_view>

#include <ATen/Parallel.h>

#include "loci/base/error.h"
#include "loci/base/log.h"
#include "loci/base/text.h"

namespace loci::io::ffmpeg {

namespace {

thread_local std::string last_error;

void on_message(void* object, int level, const char* format, va_list arguments) {
  if (level > AV_LOG_INFO) return;
  if (level > AV_LOG_ERROR && log_level() > LogLevel::kDebug) return;
  std::array<char, 512> line{};
  thread_local int at_line_start = 1;
  av_log_format_line2(object, level, format, arguments, line.data(), line.size(), &at_line_start);
  const std::string_view text = trim(line.data());
  if (text.empty()) return;
  if (level <= AV_LOG_ERROR) {
    // Removes the prefix "[mov,mp4,m4a @ 0x55…] ".
    const size_t end = text.starts_with('[') ? text.find("] ") : std::string_view::npos;
    last_error = end == std::string_view::npos ? text : text.substr(end + 2);
  }
  log_debug("FFmpeg: {}", text);
}

template <typename T>
T* checked(T* object) {
  if (object == nullptr) fail_machine("FFmpeg: not enough memory");
  return object;
}

}  // namespace

void OutputDeleter::operator()(AVFormatContext* format) const {
  if ((format->flags & AVFMT_FLAG_CUSTOM_IO) == 0) {
    avio_closep(&format->pb);
  } else if (format->pb != nullptr) {
    av_freep(&format->pb->buffer);
    avio_context_free(&format->pb);
  }
  avformat_free_context(format);
}

Codec make_codec(const AVCodec* codec) { return Codec(checked(avcodec_alloc_context3(codec))); }
Frame make_frame() { return Frame(checked(av_frame_alloc())); }
Packet make_packet() { return Packet(checked(av_packet_alloc())); }

Frame make_picture(AVPixelFormat format, int width, int height) {
  Frame frame = make_frame();
  frame->format = format;
  frame->width = width;
  frame->height = height;
  if (av_frame_get_buffer(frame.get(), 0) < 0) fail_machine("FFmpeg: not enough memory");
  return frame;
}

int thread_count() { return std::clamp(at::get_num_threads(), 1, 16); }

void start() {
  static std::once_flag once;
  std::call_once(once, [] { av_log_set_callback(on_message); });
  last_error.clear();
}

std::string describe(int code) {
  std::array<char, AV_ERROR_MAX_STRING_SIZE> meaning{};
  av_strerror(code, meaning.data(), meaning.size());
  std::string text = meaning.data();
  if (!last_error.empty()) text += " (" + last_error + ")";
  return text;
}

std::string file_url(const std::filesystem::path& name) { return "file:" + name.string(); }

}  // namespace loci::io::ffmpeg
