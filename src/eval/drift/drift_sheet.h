// SPDX-License-Identifier: Apache-2.0
// Contact sheet of a walk: one frame every three seconds, recorded above generated.
#pragma once

#include <string>
#include <vector>

#include "loci/eval/suites/eval_clips.h"
#include "loci/eval/suites/part_result.h"

namespace loci::eval {

class DriftSheet {
 public:
  static constexpr double kSeconds = 3;   // between pictures
  static constexpr int kColumns = 10;     // pictures per row
  static constexpr int64_t kWidth = 192;  // largest width of a picture, pixels
  static constexpr int64_t kGap = 2;      // white pixels to the right of and below a picture

  // `clip` is the continuation's clip.
  DriftSheet(const EvalClip& clip, double fps) : first_(clip.context_frames), fps_(fps) {}

  // Adds the next frames of the continuation and the recorded ones, uint8 [frames, H, W, 3].
  void add(int64_t first, const at::Tensor& generated, const at::Tensor& recorded);

  // All rows in one picture, uint8 [H, W, 3].
  at::Tensor picture() const;
  // A row of pictures per 30 s: recorded, and below it `variant`.
  std::vector<PictureRow> rows(const std::string& variant) const;

 private:
  // Pictures of row `row`; the last row may have fewer.
  std::vector<at::Tensor> row_of(const std::vector<at::Tensor>& pictures, size_t row) const;
  size_t row_count() const { return (generated_.size() + kColumns - 1) / kColumns; }

  int64_t first_;
  double fps_;
  std::vector<at::Tensor> generated_, recorded_;  // uint8 [h, w, 3], with the gap
};

}  // namespace loci::eval
