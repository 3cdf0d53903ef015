// SPDX-License-Identifier: Apache-2.0
#include "loci/app/generate/generate_output.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "loci/base/file.h"
#include "loci/io/media/image.h"
#include "loci/io/media/resize.h"
#include "loci/world/recording/contact_sheet.h"

namespace loci::app {

namespace {
constexpr int64_t kThumbnailWidth = 192;
constexpr int kColumns = 8;
constexpr size_t kThumbnails = 64;
}  // namespace

GenerateOutput::GenerateOutput(std::filesystem::path out, int64_t width, int64_t height, double fps,
                               bool preview)
    : out_(std::move(out)), preview_(preview) {
  io::VideoOptions options;
  options.fps = fps;
  sink_ = io::FrameSink::create(out_, width, height, options);
}

void GenerateOutput::add(const at::Tensor& frames) {
  for (int64_t i = 0; i < frames.size(0); ++i) sink_->add(frames[i]);
  frames_ += frames.size(0);
  if (!preview_ || additions_++ % stride_ != 0) return;
  const at::Tensor last = frames[-1].contiguous();
  const int64_t width = std::min(kThumbnailWidth, last.size(1));
  thumbnails_.push_back(
      io::resize_image(last, width, std::max<int64_t>(1, width * last.size(0) / last.size(1))));
  if (thumbnails_.size() <= kThumbnails) return;
  // Long runs show only every second, fourth, … chunk.
  for (size_t i = 0; 2 * i < thumbnails_.size(); ++i) thumbnails_[i] = thumbnails_[2 * i];
  thumbnails_.resize((thumbnails_.size() + 1) / 2);
  stride_ *= 2;
}

void GenerateOutput::write_preview() const {
  if (thumbnails_.empty()) return;
  const int columns = std::min(kColumns, static_cast<int>(thumbnails_.size()));
  io::write_jpeg(std::filesystem::path(out_).replace_extension(".preview.jpg"),
                 world::tile_pictures(thumbnails_, columns));
}

void GenerateOutput::finish(const Json& record) {
  sink_->finish();
  write_file(std::filesystem::path(out_).replace_extension(".json"), record.dump(2) + "\n");
}

}  // namespace loci::app
