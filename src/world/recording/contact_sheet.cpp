// SPDX-License-Identifier: Apache-2.0
#include "loci/world/recording/contact_sheet.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"

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

}  // namespace loci::world
