// SPDX-License-Identifier: Apache-2.0
// Output of generated frames: a video or pictures, a preview during the run, a record at the end.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/base/config.h"
#include "loci/io/media/frames.h"

namespace loci::app {

class GenerateOutput {
 public:
  GenerateOutput(std::filesystem::path out, int64_t width, int64_t height, double fps,
                 bool preview);

  // uint8 [T, H, W, 3]
  void add(const at::Tensor& frames);
  // Writes <out>.preview.jpg, a contact sheet of the frames so far, if the preview is enabled.
  void write_preview() const;
  // Completes the video, then writes <out>.json.
  void finish(const Json& record);

  int64_t frames() const { return frames_; }

 private:
  std::filesystem::path out_;
  bool preview_;
  std::unique_ptr<io::FrameSink> sink_;
  int64_t frames_ = 0;
  std::vector<at::Tensor> thumbnails_;  // last frame of every stride_-th call of add()
  int64_t additions_ = 0;
  int64_t stride_ = 1;
};

}  // namespace loci::app
