// SPDX-License-Identifier: Apache-2.0
#include "loci/sample/stream/finite.h"

#include <cmath>

#include <ATen/ATen.h>

namespace loci::sample {

bool all_finite(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_floating_point() || tensor.numel() == 0) return true;
  const at::NoGradGuard no_grad;
  // A sum takes over whatever is not finite; only a sum of large numbers can do so by itself.
  // In its own type, which libtorch adds up 20 times faster than BF16 into FP32; FP16 would
  // overflow.
  const at::ScalarType own = tensor.scalar_type();
  if (std::isfinite(tensor.sum(own == at::kHalf ? at::kFloat : own).item<double>())) return true;
  return tensor.isfinite().all().item<bool>();
}

}  // namespace loci::sample
