// SPDX-License-Identifier: Apache-2.0
#include "loci/io/media/video_decoder.h"

#include <cerrno>
#include <string_view>
#include <vector>

#include "loci/base/error.h"
#include "loci/io/media/image.h"

namespace loci::io {

namespace fs = std::filesystem;

namespace {

// Supported containers. Playlists are excluded, because an uploaded file could then open other
// files.
constexpr const char* kContainers =
    "mov,matroska,avi,mpegts,mpeg,mpegvideo,flv,ogg,asf,ivf,h264,hevc,m4v,obu,yuv4mpegpipe,gif,"
    "apng,nut,mxf,mjpeg";

void check_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) fail("cannot read {}: there is no such file", path.string());
  if (!fs::is_regular_file(status)) {
    fail("cannot read {}: it is not a regular file", path.string());
  }
  if (fs::file_size(path, error) == 0) {
    fail("{}: the file is empty; expected a video", path.string());
  }
}

// Determines stream properties that the container does not specify; may decode one frame per
// stream.
int probe_streams(AVFormatContext* format) {
  std::vector<AVDictionary*> options(format->nb_streams, nullptr);
  for (AVDictionary*& of_stream : options) av_dict_set_int(&of_stream, "max_pixels", kMaxPixels, 0);
  const int result = avformat_find_stream_info(format, options.data());
  for (AVDictionary*& of_stream : options) av_dict_free(&of_stream);
  return result;
}

}  // namespace

VideoInput::VideoInput(const fs::path& path) : name_(path.string()) {
  ffmpeg::start();
  check_file(path);
  AVDictionary* options = nullptr;
  av_dict_set(&options, "format_whitelist", kContainers, 0);
  av_dict_set(&options, "protocol_whitelist", "file", 0);
  AVFormatContext* format = nullptr;
  int result = avformat_open_input(&format, ffmpeg::file_url(path).c_str(), nullptr, &options);
  av_dict_free(&options);
  if (result == AVERROR(EINVAL)) {
    fail(
        "{}: this is not a readable video; expected MP4, MOV, Matroska, WebM, AVI or a similar "
        "format",
        name_);
  }
  if (result < 0) fail("{}: this is not a readable video: {}", name_, ffmpeg::describe(result));
  format_.reset(format);
  result = probe_streams(format);
  if (result < 0) fail_damaged(result);
  const int index = av_find_best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, &codec_, 0);
  if (index == AVERROR_DECODER_NOT_FOUND) {
    fail("{}: the installed FFmpeg has no decoder for this video", name_);
  }
  if (index < 0 || (format->streams[index]->disposition & AV_DISPOSITION_ATTACHED_PIC) != 0) {
    fail("{}: this file contains no video", name_);
  }
  for (unsigned i = 0; i < format->nb_streams; ++i) {
    if (static_cast<int>(i) != index) format->streams[i]->discard = AVDISCARD_ALL;
  }
  stream_ = format->streams[index];
  check_image_size(stream_->codecpar->width, stream_->codecpar->height, name_);
}

bool VideoInput::read(AVPacket* packet) {
  while (true) {
    av_packet_unref(packet);
    const int result = av_read_frame(format_.get(), packet);
    if (result == AVERROR_EOF) break;
    if (result < 0) fail_damaged(result);
    if (packet->stream_index != stream_->index) continue;
    if ((packet->flags & AV_PKT_FLAG_CORRUPT) != 0) fail_damaged(AVERROR_INVALIDDATA);
    ++packets_;
    return true;
  }
  // MP4 has an index of all packets; other containers have not.
  const bool lists_packets = std::string_view(format_->iformat->name).starts_with("mov");
  const int64_t expected = avformat_index_get_entries_count(stream_);
  if (lists_packets && !jumped_ && packets_ < expected) {
    fail("{}: the file is truncated: it contains {} of {} frames", name_, packets_, expected);
  }
  return false;
}

void VideoInput::jump(int64_t decoding_time) {
  jumped_ = true;
  const int result =
      av_seek_frame(format_.get(), stream_->index, decoding_time, AVSEEK_FLAG_BACKWARD);
  if (result < 0) fail_damaged(result);
}

void VideoInput::fail_damaged(int code) const {
  fail("{}: damaged video: {}", name_, ffmpeg::describe(code));
}

VideoDecoder::VideoDecoder(const fs::path& path)
    : input_(path), codec_(ffmpeg::make_codec(input_.codec())), packet_(ffmpeg::make_packet()) {
  int result = avcodec_parameters_to_context(codec_.get(), input_.stream().codecpar);
  codec_->pkt_timebase = input_.stream().time_base;
  codec_->thread_count = ffmpeg::thread_count();
  codec_->max_pixels = kMaxPixels;
  if (result >= 0) result = avcodec_open2(codec_.get(), input_.codec(), nullptr);
  if (result < 0) input_.fail_damaged(result);
}

bool VideoDecoder::next(AVFrame* frame) {
  ffmpeg::start();
  while (true) {
    int result = avcodec_receive_frame(codec_.get(), frame);
    if (result == AVERROR_EOF) return false;
    if (result == 0) return true;
    if (result != AVERROR(EAGAIN)) input_.fail_damaged(result);
    const bool more = input_.read(packet_.get());
    result = avcodec_send_packet(codec_.get(), more ? packet_.get() : nullptr);
    if (result < 0) input_.fail_damaged(result);
  }
}

void VideoDecoder::jump(int64_t decoding_time) {
  input_.jump(decoding_time);
  avcodec_flush_buffers(codec_.get());
}

int64_t display_time(const AVFrame& frame) {
  return frame.pts != AV_NOPTS_VALUE ? frame.pts : frame.best_effort_timestamp;
}

bool is_damaged(const AVFrame& frame) {
  return frame.decode_error_flags != 0 || (frame.flags & AV_FRAME_FLAG_CORRUPT) != 0;
}

}  // namespace loci::io
