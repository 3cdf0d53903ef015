// SPDX-License-Identifier: Apache-2.0
#include "loci/world/clip/sheet.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/progress.h"

namespace loci::world {

at::Tensor tile_pictures(const std::vector<at::Tensor>& pictures, int columns) {
  LOCI_CHECK(!pictures.empty() && columns >= 1, "{} pictures in {} columns", pictures.size(),
             columns);
  const int64_t height = pictures.front().size(0), width = pictures.front().size(1);
  const int64_t rows = (static_cast<int64_t>(pictures.size()) + columns - 1) / columns;
  at::Tensor sheet = at::zeros({rows * height, columns * width, 3}, at::kByte);
  for (size_t i = 0; i < pictures.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / columns,
                  column = static_cast<int64_t>(i) % columns;
    sheet.narrow(0, row * height, height).narrow(1, column * width, width).copy_(pictures[i]);
  }
  return sheet;
}

at::Tensor world_sheet(uint64_t seed, int64_t count, int columns, const ClipOptions& options) {
  ClipOptions one = options;
  one.frames = 1;
  ClipMaker maker(one);
  Progress progress("preview", static_cast<uint64_t>(count), "worlds");
  std::vector<at::Tensor> pictures;
  for (int64_t i = 0; i < count; ++i) {
    pictures.push_back(maker.make(seed, i * one.clips_per_world).frames[0]);
    progress.advance();
  }
  return tile_pictures(pictures, columns);
}

at::Tensor clip_sheet(uint64_t seed, int64_t count, int columns, const ClipOptions& options) {
  ClipMaker maker(options);
  Progress progress("preview", static_cast<uint64_t>(count), "clips");
  std::vector<at::Tensor> pictures;
  for (int64_t i = 0; i < count; ++i) {
    const Clip clip = maker.make(seed, i);
    for (int k = 0; k < columns; ++k) {
      pictures.push_back(clip.frames[columns == 1 ? 0 : (options.frames - 1) * k / (columns - 1)]);
    }
    progress.advance();
  }
  return tile_pictures(pictures, columns);
}

}  // namespace loci::world
