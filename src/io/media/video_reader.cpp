// SPDX-License-Identifier: Apache-2.0
extern "C" {
#include <libavutil/display.h>
}

#include <cmath>
#include <cstring>
#include <utility>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/io/media/image.h"
#include "loci/io/media/orientation.h"
#include "loci/io/media/video.h"
#include "loci/io/media/video_decoder.h"
#include "loci/io/media/video_index.h"

namespace loci::io {

namespace {

// Converts decoded frames to full-range RGB according to their colour tags.
class RgbConverter {
 public:
  at::Tensor convert(const AVFrame& frame, const std::string& name) {
    prepare(frame, name);
    const int rows = sws_scale(converter_.get(), frame.data, frame.linesize, 0, frame.height,
                               rgb_->data, rgb_->linesize);
    if (rows != frame.height) fail("{}: damaged video: a frame cannot be converted to RGB", name);
    at::Tensor image = at::empty({frame.height, frame.width, 3}, at::kByte);
    const size_t row_size = static_cast<size_t>(frame.width) * 3;
    for (int y = 0; y < frame.height; ++y) {
      std::memcpy(image.data_ptr<uint8_t>() + y * row_size,
                  rgb_->data[0] + static_cast<ptrdiff_t>(y) * rgb_->linesize[0], row_size);
    }
    return image;
  }

 private:
  struct Kind {
    int format;
    int width, height;
    AVColorSpace colours;
    AVColorRange range;
    bool operator==(const Kind&) const = default;
  };

  void prepare(const AVFrame& frame, const std::string& name) {
    const Kind kind{frame.format, frame.width, frame.height, frame.colorspace, frame.color_range};
    if (converter_ && kind == kind_) return;
    const auto format = static_cast<AVPixelFormat>(frame.format);
    converter_.reset(sws_getContext(
        frame.width, frame.height, format, frame.width, frame.height, AV_PIX_FMT_RGB24,
        SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT, nullptr, nullptr, nullptr));
    if (!converter_) fail("{}: the pixel format of the video cannot be converted to RGB", name);
    // Unknown or missing tags mean BT.601. Formats that imply full range keep it.
    sws_setColorspaceDetails(converter_.get(), sws_getCoefficients(frame.colorspace),
                             frame.color_range == AVCOL_RANGE_JPEG ? 1 : 0,
                             sws_getCoefficients(SWS_CS_DEFAULT), /*dstRange=*/1, /*brightness=*/0,
                             /*contrast=*/1 << 16, /*saturation=*/1 << 16);
    rgb_ = ffmpeg::make_picture(AV_PIX_FMT_RGB24, frame.width, frame.height);
    kind_ = kind;
  }

  Kind kind_{};
  ffmpeg::Converter converter_;
  ffmpeg::Frame rgb_;
};

Orientation stream_orientation(const AVStream& stream) {
  size_t size = 0;
  const uint8_t* matrix = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
  if (matrix == nullptr || size < 9 * sizeof(int32_t)) return 1;
  const double counter_clockwise =
      av_display_rotation_get(reinterpret_cast<const int32_t*>(matrix));
  if (std::isnan(counter_clockwise)) return 1;
  const auto quarters = static_cast<int>(std::lround(-counter_clockwise / 90));
  constexpr Orientation kClockwise[] = {1, 6, 3, 8};
  return kClockwise[quarters & 3];
}

double average_fps(const AVStream& stream) {
  for (const AVRational rate : {stream.avg_frame_rate, stream.r_frame_rate}) {
    if (rate.num > 0 && rate.den > 0) return av_q2d(rate);
  }
  return 25;  // the default of FFmpeg for streams without times
}

}  // namespace

class VideoReader::Impl {
 public:
  explicit Impl(const std::filesystem::path& path)
      : path_(path),
        decoder_(path),
        frame_(ffmpeg::make_frame()),
        orientation_(stream_orientation(decoder_.input().stream())),
        width_(decoder_.input().stream().codecpar->width),
        height_(decoder_.input().stream().codecpar->height),
        fps_(average_fps(decoder_.input().stream())) {}

  int64_t width() const { return swaps_sides(orientation_) ? height_ : width_; }
  int64_t height() const { return swaps_sides(orientation_) ? width_ : height_; }
  double fps() const { return fps_; }
  int64_t position() const { return position_; }

  int64_t frame_count() { return static_cast<int64_t>(index().display_times.size()); }

  const std::vector<double>& frame_times() {
    if (times_.empty()) {
      const std::vector<int64_t>& times = index().display_times;
      for (size_t i = 0; i < times.size(); ++i) {
        times_.push_back(index().timed ? static_cast<double>(times[i] - times[0]) * unit_seconds()
                                       : static_cast<double>(i) / fps_);
      }
    }
    return times_;
  }

  std::optional<at::Tensor> next() {
    if (!decode()) return std::nullopt;
    decoded_ = false;
    ++position_;
    if (is_damaged(*frame_)) fail("{}: frame {} is damaged", name(), position_ - 1);
    if (frame_->width != width_ || frame_->height != height_) {
      fail(
          "{}: the frame size changes from {} x {} to {} x {} at frame {}; split the video at this "
          "frame",
          name(), width_, height_, frame_->width, frame_->height, position_ - 1);
    }
    return turn_upright(converter_.convert(*frame_, name()), orientation_);
  }

  int64_t skip(int64_t count) {
    int64_t done = 0;
    while (done < count && decode()) {
      decoded_ = false;
      ++position_;
      ++done;
    }
    return done;
  }

  void seek(int64_t target) {
    if (target < 0 || target > frame_count()) {
      fail("{}: there is no frame {}; the video has {} frames", name(), target, frame_count());
    }
    if (target == position_) return;
    if (target < frame_count() && jump(target)) return;
    if (target < position_) restart();
    skip(target - position_);
  }

 private:
  const std::string& name() const { return decoder_.input().name(); }
  double unit_seconds() const { return av_q2d(decoder_.input().stream().time_base); }

  const VideoIndex& index() {
    if (!index_) index_ = make_video_index(path_);
    if (index_->display_times.empty()) fail_without_frames();
    return *index_;
  }

  // Decodes the frame at position_ into frame_; false at the end.
  bool decode() {
    if (!decoded_) decoded_ = decoder_.next(frame_.get());
    if (decoded_) return true;
    if (position_ == 0) fail_without_frames();
    if (index_ && position_ < frame_count()) {
      fail("{}: damaged video: only {} of {} frames can be decoded", name(), position_,
           frame_count());
    }
    return false;
  }

  [[noreturn]] void fail_without_frames() const {
    fail("{}: damaged video: it contains no complete frame", name());
  }

  // Moves to a frame from the key frame before it. Returns false if frames must be decoded in order
  // instead; the position is then unchanged or at the start.
  bool jump(int64_t target) {
    const int64_t time = index().display_times[target];
    const VideoIndex::KeyFrame* key = index().key_frame_before(time);
    if (key == nullptr) return false;
    const bool is_ahead = target > position_;
    if (is_ahead && key->display_time <= index().display_times[position_]) return false;
    decoder_.jump(key->decoding_time);
    while (true) {
      decoded_ = decoder_.next(frame_.get());
      if (!decoded_ || display_time(*frame_) >= time) break;
    }
    if (decoded_ && display_time(*frame_) == time) {
      position_ = target;
      return true;
    }
    restart();  // the index of the file does not match its data
    return false;
  }

  void restart() {
    decoder_ = VideoDecoder(path_);
    decoded_ = false;
    position_ = 0;
  }

  std::filesystem::path path_;
  VideoDecoder decoder_;
  ffmpeg::Frame frame_;
  RgbConverter converter_;
  std::optional<VideoIndex> index_;
  std::vector<double> times_;
  Orientation orientation_;
  int64_t width_, height_;  // coded size, before rotation
  double fps_;
  int64_t position_ = 0;
  bool decoded_ = false;  // frame_ holds the frame at position_
};

VideoReader::VideoReader(const std::filesystem::path& path) : impl_(std::make_unique<Impl>(path)) {}
VideoReader::~VideoReader() = default;
VideoReader::VideoReader(VideoReader&&) noexcept = default;
VideoReader& VideoReader::operator=(VideoReader&&) noexcept = default;

int64_t VideoReader::width() const { return impl_->width(); }
int64_t VideoReader::height() const { return impl_->height(); }
double VideoReader::fps() const { return impl_->fps(); }
int64_t VideoReader::frame_count() const { return impl_->frame_count(); }
const std::vector<double>& VideoReader::frame_times() const { return impl_->frame_times(); }
std::optional<at::Tensor> VideoReader::next() { return impl_->next(); }
int64_t VideoReader::skip(int64_t count) { return impl_->skip(count); }
void VideoReader::seek(int64_t frame) { impl_->seek(frame); }
int64_t VideoReader::position() const { return impl_->position(); }

}  // namespace loci::io
