// SPDX-License-Identifier: Apache-2.0
#include "loci/model/layers.h"

#include <ATen/ATen.h>

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
  kernels::QuantizedWeight numbers{.format = *format, .in = in};
  numbers.data = scope.exact("weight", kernels::data_shape(*format, out, in),
                             *format == kernels::WeightFormat::kInt8 ? at::kChar : at::kByte);
  numbers.scale = scope.exact("weight_scale", kernels::scale_shape(*format, out, in), at::kFloat);
  linear.bias = scope.parameter("bias", {out}, init::zeros);
  if (!numbers.data.is_meta()) linear.product = kernels::PackedLinear(numbers, linear.bias);
  return linear;
}

void Linear::pack(kernels::WeightFormat format) {
  product = kernels::PackedLinear(kernels::quantize_weight(weight, format), bias);
}

at::Tensor Linear::operator()(const at::Tensor& x, const kernels::LinearEpilogue& epilogue) const {
  if (product) return product(x, epilogue);
  return kernels::apply_epilogue(
      at::linear(x, weight.to(x.scalar_type()),
                 bias.defined() ? bias.to(x.scalar_type()) : at::Tensor()),
      epilogue);
}

RmsNorm::RmsNorm(const Scope& scope, int64_t size, double eps)
    : weight(scope.parameter("weight", {size}, init::ones)), eps(eps) {}

at::Tensor RmsNorm::operator()(const at::Tensor& x) const {
  const at::ScalarType type = wide(x.scalar_type());
  const at::Tensor input = x.to(type);
  const at::Tensor scale = at::rsqrt(input.square().mean(-1, /*keepdim=*/true) + eps);
  return (input * scale * weight.to(type)).to(x.scalar_type());
}

LayerNorm::LayerNorm(const Scope& scope, int64_t size, double eps)
    : weight(scope.parameter("weight", {size}, init::ones)),
      bias(scope.parameter("bias", {size}, init::zeros)),
      eps(eps) {}

at::Tensor LayerNorm::operator()(const at::Tensor& x) const {
  // Weight and bias apart: layer_norm's own gradient of them depends on the number of threads.
  const at::ScalarType type = wide(x.scalar_type());
  const at::Tensor norm = at::layer_norm(x.to(type), {x.size(-1)}, {}, {}, eps);
  return at::addcmul(bias.to(type), norm, weight.to(type)).to(x.scalar_type());
}

}  // namespace loci::model
