// SPDX-License-Identifier: Apache-2.0
// How the demo shows a walk: what the model makes and the truth side by side, with the frames that
// it remembers below.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::app {

class DemoPicture {
 public:
  // `width` x `height` is the model's frame; `retained` the most frames it remembers.
  DemoPicture(int64_t width, int64_t height, int64_t retained);

  int64_t width() const { return width_; }
  int64_t height() const { return height_; }

  // Everything uint8 [H, W, 3] of the model's size. `label` stands over the left picture.
  at::Tensor compose(const std::string& label, const at::Tensor& made, const at::Tensor& truth,
                     const std::vector<at::Tensor>& remembered);

 private:
  at::Tensor background(const std::string& label) const;

  int64_t frame_width_, frame_height_;
  int64_t thumbnails_, columns_;
  int64_t width_, height_;
  std::string label_;
  at::Tensor background_;  // with that label
};

}  // namespace loci::app
