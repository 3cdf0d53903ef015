// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/metrics/image_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "loci/base/error.h"
#include "loci/eval/metrics/gaussian_blur.h"

namespace loci::eval {

namespace {

constexpr int64_t kRadius = kBlurRadius;

// [T, 3, H, W] in [0, 1], FP64.
at::Tensor planes(const at::Tensor& frames) {
  if (frames.dim() != 4 || frames.size(3) != 3) {
    fail("frames have shape [{}]; expected [frames, height, width, 3]",
         fmt::join(frames.sizes(), ", "));
  }
  const at::Tensor wide = frames.to(at::kDouble).permute({0, 3, 1, 2});
  return frames.scalar_type() == at::kByte ? wide / 255 : wide;
}

void check_pair(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) {
    fail("cannot compare frames of shape [{}] with frames of shape [{}]; resize or crop them first",
         fmt::join(a.sizes(), ", "), fmt::join(b.sizes(), ", "));
  }
}

std::vector<double> to_list(const at::Tensor& values) {
  const at::Tensor flat = values.to(at::kDouble).contiguous();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

// Blurs every plane of [T, 3, H, W].
at::Tensor blur(const at::Tensor& x) {
  const at::Tensor in = x.contiguous();
  at::Tensor out = at::empty_like(in);
  const int64_t height = in.size(2), width = in.size(3);
  const double* from = in.const_data_ptr<double>();
  double* to = out.data_ptr<double>();
  at::parallel_for(0, in.size(0) * in.size(1), 1, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t at = plane * height * width;
      gaussian_blur(from + at, to + at, height, width);
    }
  });
  return out;
}

}  // namespace

std::vector<double> mse(const at::Tensor& a, const at::Tensor& b) {
  check_pair(a, b);
  return to_list((planes(a) - planes(b)).square().mean({1, 2, 3}));
}

double psnr_of(double mse) {
  return mse == 0 ? std::numeric_limits<double>::infinity() : -10 * std::log10(mse);
}

std::vector<double> psnr(const at::Tensor& a, const at::Tensor& b) {
  std::vector<double> values = mse(a, b);
  for (double& value : values) value = psnr_of(value);
  return values;
}

std::vector<double> ssim(const at::Tensor& a, const at::Tensor& b, SsimBorder border) {
  check_pair(a, b);
  const at::Tensor x = planes(a), y = planes(b);
  if (std::min(x.size(2), x.size(3)) < 2 * kRadius + 1) {
    fail("frames of {}x{} are too small for SSIM; expected at least {}x{}", x.size(3), x.size(2),
         2 * kRadius + 1, 2 * kRadius + 1);
  }
  constexpr double kC1 = 0.01 * 0.01, kC2 = 0.03 * 0.03;
  // In place where possible: a 1280x720 frame takes 22 MB, and allocation costs more than
  // arithmetic.
  const at::Tensor mean_x = blur(x), mean_y = blur(y);
  at::Tensor spread = blur(x.square()).addcmul_(mean_x, mean_x, -1).clamp_min_(0);
  spread.add_(blur(y.square()).addcmul_(mean_y, mean_y, -1).clamp_min_(0)).add_(kC2);
  const at::Tensor product = mean_x * mean_y;
  at::Tensor map = blur(x * y).sub_(product).mul_(2).add_(kC2).div_(spread);
  map.mul_(product * 2 + kC1);
  map.div_(mean_x.square().addcmul_(mean_y, mean_y).add_(kC1));
  if (border == SsimBorder::kCropped) {
    map = map.narrow(2, kRadius, map.size(2) - 2 * kRadius)
              .narrow(3, kRadius, map.size(3) - 2 * kRadius);
  }
  return to_list(map.mean({1, 2, 3}));
}

}  // namespace loci::eval
