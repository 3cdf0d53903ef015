// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/metrics/flicker.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ATen.h>

namespace loci::eval {

namespace {

constexpr double kLeastShare = 0.1;
constexpr double kRounding = 0.5;  // levels

}  // namespace

double flicker(const at::Tensor& before, const at::Tensor& frame, const ViewWarp& warp) {
  if (warp.share() < kLeastShare) return std::numeric_limits<double>::quiet_NaN();
  const at::Tensor moved = resample(before.unsqueeze(-1), warp).squeeze(-1);
  return (frame - moved).abs().masked_select(warp.valid).mean().item<double>();
}

double relative_flicker(double generated, double recorded) {
  if (!std::isfinite(generated) || !std::isfinite(recorded)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return std::max(generated, kRounding) / std::max(recorded, kRounding);
}

}  // namespace loci::eval
