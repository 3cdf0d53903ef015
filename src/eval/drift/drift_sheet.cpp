// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/drift/drift_sheet.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "loci/io/media/resize.h"
#include "loci/world/recording/contact_sheet.h"

namespace loci::eval {

void DriftSheet::add(int64_t first, const at::Tensor& generated, const at::Tensor& recorded) {
  const auto small = [](const at::Tensor& frame) {
    const int64_t width = frame.size(1);
    const at::Tensor picture =
        width <= kWidth
            ? frame
            : io::resize_image(frame, kWidth, std::max<int64_t>(1, frame.size(0) * kWidth / width));
    return at::constant_pad_nd(picture, {0, 0, 0, kGap, 0, kGap}, 255);
  };
  for (;;) {
    const double seconds = kSeconds * static_cast<double>(generated_.size());
    const int64_t next = first_ + std::llround(seconds * fps_) - first;
    if (next < 0 || next >= generated.size(0)) return;
    generated_.push_back(small(generated[next]));
    recorded_.push_back(small(recorded[next]));
  }
}

std::vector<at::Tensor> DriftSheet::row_of(const std::vector<at::Tensor>& pictures,
                                           size_t row) const {
  const auto begin = static_cast<std::ptrdiff_t>(row) * kColumns;
  return {pictures.begin() + begin,
          pictures.begin() + std::min<std::ptrdiff_t>(begin + kColumns, std::ssize(pictures))};
}

at::Tensor DriftSheet::picture() const {
  std::vector<at::Tensor> all;
  for (size_t row = 0; row < row_count(); ++row) {
    for (const std::vector<at::Tensor>* list : {&recorded_, &generated_}) {
      std::vector<at::Tensor> pictures = row_of(*list, row);
      pictures.resize(kColumns, at::full_like(pictures.front(), 255));
      all.insert(all.end(), pictures.begin(), pictures.end());
    }
  }
  return world::tile_pictures(all, kColumns);
}

std::vector<PictureRow> DriftSheet::rows(const std::string& variant) const {
  constexpr int64_t kShownWidth = 144;  // pixels; ten pictures fit the width of the page
  std::vector<PictureRow> rows;
  for (size_t row = 0; row < row_count(); ++row) {
    const auto cell = [&](const std::string& label, const std::vector<at::Tensor>& pictures) {
      const std::vector<at::Tensor> list = row_of(pictures, row);
      const int64_t columns = std::ssize(list);
      return make_cell(label, world::tile_pictures(list, static_cast<int>(columns)),
                       kShownWidth * columns);
    };
    const double begin = kSeconds * static_cast<double>(row * kColumns);
    const double end =
        kSeconds * static_cast<double>(std::min((row + 1) * kColumns, generated_.size()) - 1);
    rows.push_back({fmt::format("{:g} to {:g} s after the context, one frame every {:g} s", begin,
                                end, kSeconds),
                    {cell("recording", recorded_), cell(variant, generated_)}});
  }
  return rows;
}

}  // namespace loci::eval
