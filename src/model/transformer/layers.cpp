// SPDX-License-Identifier: Apache-2.0
#include "loci/model/transformer/layers.h"

#include <ATen/ATen.h>

#include "loci/kernels/elementwise/gelu.h"
#include "loci/kernels/elementwise/residual_norm.h"
#include "loci/kernels/linear/wide_linear.h"

namespace loci::model {

Linear::Linear(const Scope& scope, int64_t in, int64_t out, bool with_bias)
    : weight(scope.parameter("weight", {out, in}, init::fan_in(in))) {
  if (with_bias) bias = scope.parameter("bias", {out}, init::zeros);
}

Linear Linear::zero(const Scope& scope, int64_t in, int64_t out) {
  Linear linear;
  linear.weight = scope.parameter("weight", {out, in}, init::zeros);
  linear.bias = scope.parameter("bias", {out}, init::zeros);
  return linear;
}

Linear Linear::large(const Scope& scope, int64_t in, int64_t out, const std::string& quantization,
                     const Initialiser& start) {
  Linear linear;
  linear.name = scope.name();
  const auto format = kernels::weight_format(quantization);
  if (!format) {
    linear.weight = scope.parameter("weight", {out, in}, start);
    linear.bias = scope.parameter("bias", {out}, init::zeros);
    return linear;
  }
  // A new layer starts with the quantized initial weights of a float layer.
  kernels::QuantizedWeight fresh;
  const auto rounded = [&](at::Generator& generator) -> const kernels::QuantizedWeight& {
    if (!fresh.data.defined()) {
      at::Tensor full = at::empty({out, in}, at::kFloat);
      start(full, generator);
      fresh = kernels::quantize_weight(full, *format);
    }
    return fresh;
  };
  kernels::QuantizedWeight numbers{.format = *format, .in = in};
  numbers.data = scope.exact(
      "weight", kernels::data_shape(*format, out, in),
      *format == kernels::WeightFormat::kInt8 ? at::kChar : at::kByte,
      [&](at::Tensor& data, at::Generator& generator) { data.copy_(rounded(generator).data); });
  numbers.scale = scope.exact(
      "weight_scale", kernels::scale_shape(*format, out, in), at::kFloat,
      [&](at::Tensor& scale, at::Generator& generator) { scale.copy_(rounded(generator).scale); });
  linear.bias = scope.parameter("bias", {out}, init::zeros);
  if (numbers.data.is_meta()) return linear;
  const kernels::PackedLinear packed(numbers, linear.bias);
  // Keeps only the packed copy of the weights.
  scope.replace("weight", packed.panels());
  linear.product = packed;
  return linear;
}

void Linear::pack(kernels::WeightFormat format) {
  product = kernels::PackedLinear(kernels::quantize_weight(weight, format), bias);
}

at::Tensor Linear::operator()(const at::Tensor& x, const kernels::LinearEpilogue& epilogue) const {
  if (product) return product(x, epilogue);
  at::Tensor y = kernels::linear(x, weight, bias);
  if (epilogue.gelu) y = kernels::gelu(std::move(y));
  if (epilogue.addend.defined()) y = epilogue.addend + y;
  if (!epilogue.residual.defined()) return y;
  return kernels::gated_add(epilogue.residual, epilogue.gate, y);
}

RmsNorm::RmsNorm(const Scope& scope, int64_t size, double eps)
    : weight(scope.parameter("weight", {size}, init::ones)), eps(eps) {}

at::Tensor RmsNorm::operator()(const at::Tensor& x) const {
  return kernels::rms_norm(x, weight, eps);
}

kernels::NormedHeads RmsNorm::operator()(const at::Tensor& x, int64_t heads,
                                         const kernels::HeadMap& map, bool want_norm) const {
  return kernels::rms_norm_heads(x, weight, eps, heads, map, want_norm);
}

LayerNorm::LayerNorm(const Scope& scope, int64_t size, double eps)
    : weight(scope.parameter("weight", {size}, init::ones)),
      bias(scope.parameter("bias", {size}, init::zeros)),
      eps(eps) {}

}  // namespace loci::model
