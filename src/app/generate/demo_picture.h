// SPDX-License-Identifier: Apache-2.0
// Pictures of `loci demo`: the generated frame and the ground truth side by side, with the frames
// that the chunk attended to below.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::app {

class DemoPicture {
 public:
  // `width` x `height` is the size of the model's frames, `retained` the maximum number of frames
  // that a chunk attends to.
  DemoPicture(int64_t width, int64_t height, int64_t retained);

  int64_t width() const { return width_; }
  int64_t height() const { return height_; }

  // All frames are uint8 [H, W, 3] of the model's size. `label` is written above the left picture.
  at::Tensor compose(const std::string& label, const at::Tensor& generated, const at::Tensor& truth,
                     const std::vector<at::Tensor>& attended);

 private:
  at::Tensor background(const std::string& label) const;

  int64_t frame_width_, frame_height_;
  int64_t thumbnails_, columns_;
  int64_t width_, height_;
  std::string label_;
  at::Tensor background_;  // with label_
};

}  // namespace loci::app
