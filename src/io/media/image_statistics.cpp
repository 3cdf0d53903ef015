// SPDX-License-Identifier: Apache-2.0
#include "loci/io/media/image_statistics.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::io {

namespace {

std::vector<double> to_list(const at::Tensor& values) {
  const at::Tensor flat = values.contiguous();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

}  // namespace

at::Tensor luma(const at::Tensor& frames) {
  if (frames.dim() != 4 || frames.size(3) != 3) {
    fail("frames have shape [{}]; expected [frames, height, width, 3]",
         fmt::join(frames.sizes(), ", "));
  }
  const at::Tensor weights = at::tensor({0.299, 0.587, 0.114}, at::kDouble);
  const at::Tensor sum = at::matmul(frames.to(at::kDouble), weights);
  return frames.scalar_type() == at::kByte ? sum : sum * 255;
}

std::vector<double> sharpness(const at::Tensor& frames) {
  const at::Tensor y = luma(frames);
  if (std::min(y.size(1), y.size(2)) < 3) {
    fail("frames of {}x{} are too small for sharpness; expected at least 3x3", y.size(2),
         y.size(1));
  }
  const int64_t height = y.size(1) - 2, width = y.size(2) - 2;
  const auto shifted = [&](int64_t row, int64_t column) {
    return y.narrow(1, row, height).narrow(2, column, width);
  };
  at::Tensor laplacian = shifted(0, 1) + shifted(2, 1);
  laplacian.add_(shifted(1, 0)).add_(shifted(1, 2)).sub_(shifted(1, 1), 4);
  return to_list(laplacian.flatten(1).var(1, /*unbiased=*/false));
}

std::vector<double> contrast(const at::Tensor& frames) {
  return to_list(luma(frames).flatten(1).std(1, /*unbiased=*/false));
}

}  // namespace loci::io
