// SPDX-License-Identifier: Apache-2.0
extern "C" {
#include <libavutil/opt.h>
}

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include <ATen/ATen.h>

#include "loci/base/choice.h"
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/io/media/ffmpeg.h"
#include "loci/io/media/image.h"
#include "loci/io/media/video.h"

namespace loci::io {

namespace {

constexpr double kMinFps = 0.01;
constexpr double kMaxFps = 1000;
constexpr int kMaxSide = 16384;  // limit of x264
constexpr int kSinkBuffer = 1 << 16;
constexpr double kKeyFrameSeconds = 2;  // maximum time that a player decodes to seek

constexpr std::array<std::string_view, 9> kSpeeds = {
    "ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow"};

void check_options(const VideoOptions& options, int64_t width, int64_t height,
                   const std::string& name) {
  check_image_size(width, height, name);
  if (width > kMaxSide || height > kMaxSide) {
    fail("cannot write {}: frames of {} x {} pixels do not fit H.264 (at most {} per side)", name,
         width, height, kMaxSide);
  }
  if (!options.lossless && (width % 2 != 0 || height % 2 != 0)) {
    fail(
        "cannot write {}: frames of {} x {} pixels have an odd side, which this format does "
        "not support; crop them to even sides, or write a lossless video or a folder of images",
        name, width, height);
  }
  if (!(options.fps >= kMinFps && options.fps <= kMaxFps)) {
    fail("cannot write {}: the frame rate is {} per second; it must be {} to {}", name, options.fps,
         kMinFps, kMaxFps);
  }
  if (options.crf < 0 || options.crf > 51) {
    fail("cannot write {}: crf is {}; it must be 0 (best) to 51", name, options.crf);
  }
  if (std::find(kSpeeds.begin(), kSpeeds.end(), options.speed) == kSpeeds.end()) {
    fail("cannot write {}: {}", name,
         unknown_choice("speed", options.speed, {kSpeeds.begin(), kSpeeds.end()}));
  }
}

// Converts full-range RGB to the pixel format of the encoder: BT.709, limited range, or RGB planes.
ffmpeg::Converter make_converter(const AVCodecContext& codec) {
  ffmpeg::Converter converter(sws_getContext(
      codec.width, codec.height, AV_PIX_FMT_RGB24, codec.width, codec.height, codec.pix_fmt,
      SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP, nullptr, nullptr,
      nullptr));
  if (!converter) fail_machine("FFmpeg: not enough memory to convert colours");
  const int* bt709 = sws_getCoefficients(SWS_CS_ITU709);
  sws_setColorspaceDetails(converter.get(), bt709, /*srcRange=*/1, bt709, /*dstRange=*/0,
                           /*brightness=*/0, /*contrast=*/1 << 16, /*saturation=*/1 << 16);
  return converter;
}

}  // namespace

class VideoWriter::Impl {
 public:
  Impl(const std::filesystem::path& path, int64_t width, int64_t height,
       const VideoOptions& options)
      : name_(path.string()) {
    ffmpeg::start();
    if (path.extension() != ".mp4") {
      fail("cannot write {}: the name of a video must end in .mp4", name_);
    }
    check_options(options, width, height, name_);
    file_.emplace(path);
    open(width, height, options);
  }

  Impl(Sink sink, int64_t width, int64_t height, const VideoOptions& options)
      : name_("video stream"), sink_(std::move(sink)) {
    LOCI_CHECK(sink_, "a video stream needs a sink");
    ffmpeg::start();
    check_options(options, width, height, name_);
    open(width, height, options);
  }

  void add(const at::Tensor& frame) {
    LOCI_CHECK(!finished_, "{}: a frame was added after finish()", name_);
    ffmpeg::start();
    const at::Tensor image = checked_image(frame);
    LOCI_CHECK(image.size(1) == codec_->width && image.size(0) == codec_->height,
               "{}: the frame has {} x {} pixels, the video {} x {}", name_, image.size(1),
               image.size(0), codec_->width, codec_->height);
    const int64_t row_size = image.size(1) * 3;
    for (int64_t y = 0; y < image.size(0); ++y) {
      std::memcpy(rgb_->data[0] + y * rgb_->linesize[0], image.data_ptr<uint8_t>() + y * row_size,
                  row_size);
    }
    check(av_frame_make_writable(picture_.get()));  // the encoder may still use the last frame
    check(sws_scale(converter_.get(), rgb_->data, rgb_->linesize, 0, codec_->height, picture_->data,
                    picture_->linesize));
    picture_->pts = count_++;
    picture_->pict_type =
        std::exchange(start_afresh_, false) ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE;
    encode(picture_.get());
  }

  void flush() {
    LOCI_CHECK(sink_ && !finished_, "{}: flush() needs an unfinished stream", name_);
    ffmpeg::start();
    check(av_write_frame(format_.get(), nullptr));
    avio_flush(format_->pb);
    check(format_->pb->error);
    start_afresh_ = true;
  }

  void finish() {
    LOCI_CHECK(!finished_, "{}: finish() was called twice", name_);
    ffmpeg::start();
    if (count_ == 0) fail("cannot write {}: there are no frames", name_);
    encode(nullptr);
    check(av_write_trailer(format_.get()));
    avio_flush(format_->pb);
    check(format_->pb->error);
    format_.reset();  // closes the file
    if (file_) file_->commit();
    finished_ = true;
  }

  int64_t count() const { return count_; }

 private:
  void open(int64_t width, int64_t height, const VideoOptions& options) {
    open_encoder(width, height, options);
    open_output(options.fragmented || sink_);
    converter_ = make_converter(*codec_);
    rgb_ = ffmpeg::make_picture(AV_PIX_FMT_RGB24, codec_->width, codec_->height);
    picture_ = ffmpeg::make_picture(codec_->pix_fmt, codec_->width, codec_->height);
    packet_ = ffmpeg::make_packet();
  }

  void open_encoder(int64_t width, int64_t height, const VideoOptions& options) {
    const char* encoder_name = options.lossless ? "libx264rgb" : "libx264";
    const AVCodec* encoder = avcodec_find_encoder_by_name(encoder_name);
    if (encoder == nullptr) {
      fail_machine(
          "cannot write {}: the installed FFmpeg has no encoder {}; install an FFmpeg with x264",
          name_, encoder_name);
    }
    codec_ = ffmpeg::make_codec(encoder);
    codec_->width = static_cast<int>(width);
    codec_->height = static_cast<int>(height);
    codec_->sample_aspect_ratio = {1, 1};
    codec_->framerate = av_d2q(options.fps, 1 << 16);  // 29.97… becomes 30000/1001
    codec_->time_base = av_inv_q(codec_->framerate);
    codec_->gop_size =
        static_cast<int>(std::clamp(std::ceil(options.fps * kKeyFrameSeconds), 1.0, 250.0));
    codec_->thread_count = ffmpeg::thread_count();
    codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;  // MP4 stores the codec setup in its index
    codec_->color_primaries = AVCOL_PRI_BT709;
    codec_->color_trc = AVCOL_TRC_BT709;
    set("preset", options.speed);
#if defined(__x86_64__)
    // The output of x264's AVX-512 code is not deterministic.
    if (__builtin_cpu_supports("avx512f")) set("x264-params", "asm=AVX2");
#endif
    if (options.lossless) {
      codec_->pix_fmt = AV_PIX_FMT_RGB24;
      codec_->colorspace = AVCOL_SPC_RGB;
      codec_->color_range = AVCOL_RANGE_JPEG;
      set("qp", "0");
    } else {
      codec_->pix_fmt = AV_PIX_FMT_YUV420P;
      codec_->colorspace = AVCOL_SPC_BT709;
      codec_->color_range = AVCOL_RANGE_MPEG;
      codec_->chroma_sample_location = AVCHROMA_LOC_LEFT;
      set("profile", "high");
      set("crf", std::to_string(options.crf));
    }
    if (options.fragmented) codec_->max_b_frames = 0;  // they would delay the first frame
    if (sink_) {
      set("tune", "zerolatency");
      set("forced-idr", "1");
    }
    check(avcodec_open2(codec_.get(), encoder, nullptr));
  }

  void open_output(bool fragmented) {
    AVFormatContext* format = nullptr;
    check(avformat_alloc_output_context2(&format, nullptr, "mp4", nullptr));
    format_.reset(format);
    format_->flags |= AVFMT_FLAG_BITEXACT;  // does not write the version of the library
    stream_ = avformat_new_stream(format, nullptr);
    if (stream_ == nullptr) fail_machine("FFmpeg: not enough memory");
    check(avcodec_parameters_from_context(stream_->codecpar, codec_.get()));
    stream_->time_base = codec_->time_base;
    stream_->avg_frame_rate = codec_->framerate;
    if (sink_) {
      format_->flags |= AVFMT_FLAG_CUSTOM_IO;
      auto* buffer = static_cast<unsigned char*>(av_malloc(kSinkBuffer));
      format_->pb = avio_alloc_context(buffer, kSinkBuffer, /*write_flag=*/1, this, nullptr,
                                       write_to_sink, nullptr);
      if (format_->pb == nullptr) {
        av_free(buffer);
        fail_machine("FFmpeg: not enough memory");
      }
    } else {
      // The muxer opens the file again to move the data behind the index.
      const std::string url = ffmpeg::file_url(file_->temporary());
      format_->url = av_strdup(url.c_str());
      check(avio_open(&format_->pb, url.c_str(), AVIO_FLAG_WRITE));
    }
    AVDictionary* options = nullptr;
    av_dict_set(&options, "movflags",
                fragmented ? "frag_keyframe+empty_moov+default_base_moof" : "faststart", 0);
    const int result = avformat_write_header(format, &options);
    av_dict_free(&options);
    check(result);
    avio_flush(format_->pb);
    check(format_->pb->error);
  }

  // Sends a frame (nullptr at the end) to the encoder and writes its output.
  void encode(const AVFrame* frame) {
    check(avcodec_send_frame(codec_.get(), frame));
    while (true) {
      const int result = avcodec_receive_packet(codec_.get(), packet_.get());
      if (result == AVERROR(EAGAIN) || result == AVERROR_EOF) return;
      check(result);
      packet_->duration = 1;  // otherwise the last frame may have none
      packet_->stream_index = stream_->index;
      av_packet_rescale_ts(packet_.get(), codec_->time_base, stream_->time_base);
      check(av_interleaved_write_frame(format_.get(), packet_.get()));
    }
  }

  static int write_to_sink(void* self, uint8_t* data, int size) {
    auto* impl = static_cast<Impl*>(self);
    try {
      impl->sink_(std::as_bytes(std::span(data, static_cast<size_t>(size))));
      return size;
    } catch (...) {
      impl->sink_error_ = std::current_exception();
      return AVERROR_EXTERNAL;
    }
  }

  void set(const char* option, const std::string& value) {
    const int result = av_opt_set(codec_->priv_data, option, value.c_str(), 0);
    LOCI_CHECK(result >= 0, "the encoder does not support {}={}", option, value);
  }

  void check(int result) {
    if (sink_error_) std::rethrow_exception(std::exchange(sink_error_, nullptr));
    if (result >= 0) return;
    if (result == AVERROR(ENOSPC) || result == AVERROR(EDQUOT)) {
      fail_machine("cannot write {}: the disk is full; free some space and try again", name_);
    }
    fail_machine("cannot write {}: {}", name_, ffmpeg::describe(result));
  }

  std::string name_;
  Sink sink_;
  std::exception_ptr sink_error_;
  std::optional<AtomicFile> file_;
  ffmpeg::Codec codec_;
  ffmpeg::Output format_;
  AVStream* stream_ = nullptr;  // owned by format_
  ffmpeg::Converter converter_;
  ffmpeg::Frame rgb_;
  ffmpeg::Frame picture_;
  ffmpeg::Packet packet_;
  int64_t count_ = 0;
  bool start_afresh_ = false;
  bool finished_ = false;
};

VideoWriter::VideoWriter(const std::filesystem::path& path, int64_t width, int64_t height,
                         VideoOptions options)
    : impl_(std::make_unique<Impl>(path, width, height, options)) {}
VideoWriter::VideoWriter(Sink sink, int64_t width, int64_t height, VideoOptions options)
    : impl_(std::make_unique<Impl>(std::move(sink), width, height, options)) {}
VideoWriter::~VideoWriter() = default;
VideoWriter::VideoWriter(VideoWriter&&) noexcept = default;
VideoWriter& VideoWriter::operator=(VideoWriter&&) noexcept = default;

void VideoWriter::add(const at::Tensor& frame) { impl_->add(frame); }
void VideoWriter::flush() { impl_->flush(); }
void VideoWriter::finish() { impl_->finish(); }
int64_t VideoWriter::frame_count() const { return impl_->count(); }

}  // namespace loci::io
