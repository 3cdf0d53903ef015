// SPDX-License-Identifier: Apache-2.0
// Quantized weights of linear layers in the format of model files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

namespace loci::kernels {

enum class WeightFormat {
  kBfloat16,
  kInt8,  // -127 to 127, one scale per output channel
  kInt4,  // -8 to 7, one scale per 64 inputs of an output channel
};

// "bf16", "int8" or "int4".
std::string_view name_of(WeightFormat format);
std::optional<WeightFormat> weight_format(std::string_view name);

// The data and scales of a weight [out, in].
//   bf16  data BF16 [out, in], no scale
//   int8  data INT8 [out, in], scale FP32 [out]
//   int4  data UINT8 [out, ceil(in / 2)]: two weights per byte, each plus 8, the even input in the
//         low half; scale FP32 [out, ceil(in / 64)]
struct QuantizedWeight {
  WeightFormat format = WeightFormat::kBfloat16;
  at::Tensor data, scale;
  int64_t in = 0;

  int64_t out() const { return data.size(0); }
  int64_t bytes() const;
};

// Shapes of data and scale for a weight [out, in].
std::vector<int64_t> data_shape(WeightFormat format, int64_t out, int64_t in);
std::vector<int64_t> scale_shape(WeightFormat format, int64_t out, int64_t in);

// Rounds to nearest. The scale follows from the largest magnitude. For INT4, a few smaller scales
// are tried as well, and the one with the least squared error is used.
QuantizedWeight quantize_weight(const at::Tensor& weight, WeightFormat format);

// Quantizes each row of x to integers within +-127, scaled by its largest magnitude, and
// dequantizes it: the values that INT8 weights are multiplied with. A row that is not finite
// becomes NaN.
at::Tensor quantize_dequantize_rows(const at::Tensor& x);

}  // namespace loci::kernels
