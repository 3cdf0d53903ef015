// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/linear/quantized_weight.h"

#include <array>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/error.h"
#include "loci/kernels/linear/packed_linear_kernel.h"

namespace loci::kernels {

namespace {

using packed_linear_kernels::kGroup;

constexpr std::array kFormats = {std::pair{WeightFormat::kBfloat16, std::string_view("bf16")},
                                 std::pair{WeightFormat::kInt8, std::string_view("int8")},
                                 std::pair{WeightFormat::kInt4, std::string_view("int4")}};

// Smaller scales count as zero, since their inverse would not be finite.
constexpr double kSmallest = 1e-30;

QuantizedWeight to_int8(const at::Tensor& weight) {
  const at::Tensor scale = weight.abs().amax(1) / 127;
  const at::Tensor steps = weight / scale.clamp_min(kSmallest).unsqueeze(1);
  return {WeightFormat::kInt8, steps.round().clamp(-127, 127).to(at::kChar), scale, weight.size(1)};
}

QuantizedWeight to_int4(const at::Tensor& weight) {
  const int64_t in = weight.size(1), groups = (in + kGroup - 1) / kGroup;
  // [out, groups, kGroup]
  const at::Tensor parts =
      at::constant_pad_nd(weight, {0, groups * kGroup - in}).unflatten(1, {groups, kGroup});
  // The weight of the largest magnitude becomes -8, since the range is -8 to 7.
  const at::Tensor largest = parts.gather(2, parts.abs().argmax(2, /*keepdim=*/true));
  at::Tensor best_scale, best_error, best_numbers;
  for (const double share : {1.0, 0.95, 0.9, 0.85, 0.8}) {
    const at::Tensor scale = largest * (-share / 8);
    const at::Tensor divisor = at::where(scale.abs() < kSmallest, kSmallest, scale);
    const at::Tensor numbers = (parts / divisor).round().clamp(-8, 7);
    const at::Tensor error = (numbers * scale - parts).square().sum(2, /*keepdim=*/true);
    if (!best_scale.defined()) {
      best_scale = scale, best_error = error, best_numbers = numbers;
      continue;
    }
    const at::Tensor better = error < best_error;
    best_scale = at::where(better, scale, best_scale);
    best_error = at::where(better, error, best_error);
    best_numbers = at::where(better, numbers, best_numbers);
  }
  const at::Tensor nibbles = (best_numbers + 8).to(at::kByte).flatten(1).narrow(1, 0, in);
  const at::Tensor pairs =
      at::constant_pad_nd(nibbles, {0, in % 2}, 8).unflatten(1, {-1, 2});  // 8 is a weight of 0
  const at::Tensor data = pairs.select(2, 0).bitwise_or(pairs.select(2, 1).bitwise_left_shift(4));
  return {WeightFormat::kInt4, data, best_scale.squeeze(2).contiguous(), in};
}

}  // namespace

std::string_view name_of(WeightFormat format) {
  for (const auto& [known, name] : kFormats) {
    if (known == format) return name;
  }
  return "bf16";
}

std::optional<WeightFormat> weight_format(std::string_view name) {
  for (const auto& [format, known] : kFormats) {
    if (known == name) return format;
  }
  return std::nullopt;
}

int64_t QuantizedWeight::bytes() const {
  return static_cast<int64_t>(data.nbytes() + (scale.defined() ? scale.nbytes() : 0));
}

std::vector<int64_t> data_shape(WeightFormat format, int64_t out, int64_t in) {
  return {out, format == WeightFormat::kInt4 ? (in + 1) / 2 : in};
}

std::vector<int64_t> scale_shape(WeightFormat format, int64_t out, int64_t in) {
  if (format == WeightFormat::kInt4) return {out, (in + kGroup - 1) / kGroup};
  return {out};
}

QuantizedWeight quantize_weight(const at::Tensor& weight, WeightFormat format) {
  LOCI_CHECK(weight.dim() == 2 && weight.size(0) > 0 && weight.size(1) > 0,
             "a weight must be [out, in]");
  const at::NoGradGuard no_grad;
  if (format == WeightFormat::kBfloat16) {
    return {format, weight.detach().to(at::kBFloat16).contiguous(), {}, weight.size(1)};
  }
  const at::Tensor wide = weight.detach().to(at::kFloat).contiguous();
  return format == WeightFormat::kInt8 ? to_int8(wide) : to_int4(wide);
}

at::Tensor quantize_dequantize_rows(const at::Tensor& x) {
  const at::Tensor largest = x.abs().amax(-1, /*keepdim=*/true);  // NaN if the row has one
  const at::Tensor usable = largest.isfinite().logical_and(largest > kSmallest);
  const at::Tensor scaled = (x * (127 / largest)).to(at::kDouble);
  const at::Tensor numbers = (scaled.abs() + 0.5).floor().copysign(scaled).to(x.scalar_type());
  // 0 for a row of zeros, NaN for a row that is not finite.
  return at::where(usable, numbers * (largest / 127), largest - largest);
}

}  // namespace loci::kernels
