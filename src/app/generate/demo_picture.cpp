// SPDX-License-Identifier: Apache-2.0
#include "loci/app/generate/demo_picture.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "loci/camera/picture/canvas.h"
#include "loci/io/media/resize.h"

namespace loci::app {

namespace {

constexpr int64_t kScale = 2;      // enlargement of the two pictures
constexpr int64_t kThumbnail = 4;  // reduction of the attended frames
constexpr int64_t kMargin = 12, kGap = 4, kLine = 28;
constexpr camera::Colour kPaper{18, 20, 26};
constexpr camera::Colour kInk{225, 228, 235};

int64_t even(int64_t size) { return size + size % 2; }

}  // namespace

DemoPicture::DemoPicture(int64_t width, int64_t height, int64_t retained)
    : frame_width_(width), frame_height_(height), thumbnails_(retained) {
  width_ = even(2 * kScale * frame_width_ + 3 * kMargin);
  columns_ = (width_ - 2 * kMargin + kGap) / (frame_width_ / kThumbnail + kGap);
  const int64_t rows = (thumbnails_ + columns_ - 1) / columns_;
  height_ = even(2 * kLine + kScale * frame_height_ + rows * (frame_height_ / kThumbnail + kGap) +
                 2 * kMargin);
}

at::Tensor DemoPicture::background(const std::string& label) const {
  camera::PixelCanvas canvas(static_cast<int>(width_), static_cast<int>(height_), kPaper);
  const auto write = [&](int64_t x, int64_t y, const std::string& words) {
    canvas.text({static_cast<double>(x), static_cast<double>(y)}, words, 16, kInk,
                camera::Anchor::kStart);
  };
  write(kMargin, 20, label);
  write(2 * kMargin + kScale * frame_width_, 20, "ground truth");
  write(kMargin, kLine + kScale * frame_height_ + 20, "frames that the chunk attends to");
  return canvas.image();
}

at::Tensor DemoPicture::compose(const std::string& label, const at::Tensor& generated,
                                const at::Tensor& truth, const std::vector<at::Tensor>& attended) {
  if (!background_.defined() || label != label_) {
    label_ = label;
    background_ = background(label);
  }
  at::Tensor picture = background_.clone();
  const auto paste = [&](const at::Tensor& image, int64_t x, int64_t y) {
    picture.narrow(0, y, image.size(0)).narrow(1, x, image.size(1)).copy_(image);
  };
  const auto large = [&](const at::Tensor& frame) {
    return io::resize_image(frame, kScale * frame_width_, kScale * frame_height_,
                            io::ResizeFilter::kBicubic);
  };
  paste(large(generated), kMargin, kLine);
  paste(large(truth), 2 * kMargin + kScale * frame_width_, kLine);
  const int64_t w = frame_width_ / kThumbnail, h = frame_height_ / kThumbnail;
  const int64_t top = 2 * kLine + kScale * frame_height_;
  const auto shown = std::min(thumbnails_, std::ssize(attended));
  for (int64_t i = 0; i < shown; ++i) {
    paste(io::resize_image(attended[i], w, h), kMargin + i % columns_ * (w + kGap),
          top + i / columns_ * (h + kGap));
  }
  return picture;
}

}  // namespace loci::app
