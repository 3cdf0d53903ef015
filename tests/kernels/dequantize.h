// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include "loci/kernels/linear/quantized_weight.h"

namespace loci::kernels {

// The weights [out, in] in FP32.
inline at::Tensor dequantize(const QuantizedWeight& weight) {
  switch (weight.format) {
    case WeightFormat::kBfloat16:
      break;
    case WeightFormat::kInt8:
      return weight.data.to(at::kFloat) * weight.scale.unsqueeze(1);
    case WeightFormat::kInt4: {
      const at::Tensor low = weight.data.bitwise_and(15), high = weight.data.bitwise_right_shift(4);
      const at::Tensor numbers =
          at::stack({low, high}, 2).flatten(1).narrow(1, 0, weight.in).to(at::kFloat) - 8;
      return numbers * weight.scale.repeat_interleave(64, 1).narrow(1, 0, weight.in);
    }
  }
  return weight.data.to(at::kFloat);
}

}  // namespace loci::kernels
