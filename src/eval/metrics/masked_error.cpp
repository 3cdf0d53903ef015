// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/metrics/masked_error.h"

#include <algorithm>
#include <limits>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/eval/metrics/image_metrics.h"
#include "loci/eval/suites/continuation_scores.h"

namespace loci::eval {

MaskedError masked_error(const at::Tensor& generated, const at::Tensor& truth,
                         const at::Tensor& mask, const model::Lpips* lpips) {
  if (generated.sizes() != truth.sizes() || generated.dim() != 4 || generated.size(0) != 1 ||
      mask.sizes() != generated.sizes().slice(1, 2)) {
    fail("frames of shape [{}] and [{}] and a mask of shape [{}] do not match",
         fmt::join(generated.sizes(), ", "), fmt::join(truth.sizes(), ", "),
         fmt::join(mask.sizes(), ", "));
  }
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  MaskedError error{mask.to(at::kDouble).mean().item<double>(), kNone, kNone};
  if (error.region == 0) return error;
  const at::Tensor difference = (generated[0].to(at::kDouble) - truth[0].to(at::kDouble)) / 255;
  error.psnr =
      std::min(psnr_of(difference.square().mean(-1).masked_select(mask).mean().item<double>()),
               kIdenticalPsnr);
  if (lpips != nullptr) {
    error.lpips =
        lpips->distance_map(generated, truth)[0].masked_select(mask).mean().item<double>();
  }
  return error;
}

}  // namespace loci::eval
