// SPDX-License-Identifier: Apache-2.0
#include "loci/sample/stream/finite.h"

#include <cmath>

#include <ATen/ATen.h>

namespace loci::sample {

bool all_finite(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_floating_point() || tensor.numel() == 0) return true;
  const at::NoGradGuard no_grad;
  // A sum is not finite if an element is not; otherwise it overflows only for large elements. The
  // sum uses the tensor's type, since libtorch sums BF16 20 times faster than BF16 to FP32. FP16
  // would overflow.
  const at::ScalarType own = tensor.scalar_type();
  if (std::isfinite(tensor.sum(own == at::kHalf ? at::kFloat : own).item<double>())) return true;
  return tensor.isfinite().all().item<bool>();
}

}  // namespace loci::sample
