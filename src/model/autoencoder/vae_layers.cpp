// SPDX-License-Identifier: Apache-2.0
#include "loci/model/autoencoder/vae_layers.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/error.h"
#include "loci/kernels/convolution/conv_3x3.h"
#include "loci/kernels/elementwise/norm_silu.h"

namespace loci::model {

namespace {

// Changes the memory order of the parameter's dimensions to `order` and keeps its shape. The handle
// in Parameters stays valid.
void set_memory_order(const at::Tensor& parameter, at::IntArrayRef order) {
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  parameter.set_data(parameter.permute(order).contiguous().permute(back));
}

at::Tensor to_type(const at::Tensor& parameter, const at::Tensor& x) {
  return parameter.defined() ? parameter.to(x.scalar_type()) : parameter;
}

// Adds the cached contribution to one frame [B, H, W, C]. A contribution of another type would
// first be copied as a whole, so it is added row by row.
void add_kept(const at::Tensor& sum, const at::Tensor& kept) {
  if (sum.scalar_type() == kept.scalar_type()) {
    sum.add_(kept);
    return;
  }
  for (int64_t y = 0; y < sum.size(1); ++y) sum.select(1, y).add_(kept.select(1, y));
}

}  // namespace

at::Tensor add_to(at::Tensor a, const at::Tensor& b) {
  return at::GradMode::is_enabled() ? a + b : a.add_(b);
}

// libtorch's conv3d reaches 8 to 40 GFLOP/s on small channel counts where one conv2d per temporal
// tap, channels last, reaches 85 (one AVX2 core; both reach 75 to 80 at the sizes of Wan2.2 5B), so
// time is unrolled into taps everywhere.
at::Tensor conv_frames(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                       int64_t stride) {
  const at::Tensor kernel = to_type(weight, x);
  const at::Tensor shift = to_type(bias, x);
  if (weight.size(-1) == 1) return at::linear(x, kernel.flatten(1), shift);
  const at::Tensor pictures = x.flatten(0, 1);
  const at::Tensor y =
      stride == 1 ? kernels::conv_3x3(pictures, kernel, shift)
                  : at::conv2d(pictures.permute({0, 3, 1, 2}), kernel, shift, {stride, stride})
                        .permute({0, 2, 3, 1})
                        .contiguous();
  return y.unflatten(0, {x.size(0), x.size(1)});
}

ChannelNorm::ChannelNorm(const Scope& scope, int64_t channels, bool image) {
  std::vector<int64_t> shape = {channels, 1, 1, 1};
  if (image) shape.pop_back();
  gamma = scope.parameter("gamma", shape, init::ones);
}

at::Tensor ChannelNorm::operator()(const at::Tensor& x) const {
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor length = at::norm(wide, 2, {-1}, /*keepdim=*/true).clamp_min(1e-12);
  const double scale = std::sqrt(static_cast<double>(x.size(-1)));
  return (wide / length * (gamma.flatten().to(at::kFloat) * scale)).to(x.scalar_type());
}

at::Tensor ChannelNorm::silu(at::Tensor x) const {
  return kernels::norm_silu(std::move(x), gamma.flatten());
}

PixelConv::PixelConv(const Scope& scope, int64_t in, int64_t out, int64_t kernel)
    : weight(
          scope.parameter("weight", {out, in, kernel, kernel}, init::fan_in(in * kernel * kernel))),
      bias(scope.parameter("bias", {out}, init::zeros)) {
  set_memory_order(weight, {0, 2, 3, 1});
}

PixelConv PixelConv::zero(const Scope& scope, int64_t in, int64_t out) {
  PixelConv conv;
  conv.weight = scope.parameter("weight", {out, in, 1, 1}, init::zeros);
  conv.bias = scope.parameter("bias", {out}, init::zeros);
  return conv;
}

at::Tensor PixelConv::operator()(const at::Tensor& x) const { return conv_frames(x, weight, bias); }

PointConv::PointConv(const Scope& scope, int64_t in, int64_t out, const Initialiser& bias_start)
    : weight(scope.parameter("weight", {out, in, 1, 1, 1}, init::fan_in(in))),
      bias(scope.parameter("bias", {out}, bias_start)) {}

at::Tensor PointConv::operator()(const at::Tensor& x) const {
  return at::linear(x, to_type(weight, x).flatten(1), to_type(bias, x));
}

CausalConv::CausalConv(const Scope& scope, int64_t in, int64_t out, int64_t kernel)
    : CausalConv(scope, in, out, kernel, init::fan_in(in * 3 * kernel * kernel)) {}

CausalConv::CausalConv(const Scope& scope, int64_t in, int64_t out, int64_t kernel,
                       const Initialiser& weight_start)
    : weight(scope.parameter("weight", {out, in, 3, kernel, kernel}, weight_start)),
      bias(scope.parameter("bias", {out}, init::zeros)),
      name(scope.name()) {
  set_memory_order(weight, {2, 0, 3, 4, 1});
}

at::Tensor CausalConv::operator()(const at::Tensor& x, const VaePass& pass, bool started) const {
  const int64_t frames = x.size(0);
  at::Tensor out = conv_frames(x, tap(2), bias);
  if (pass.cache == nullptr) {
    for (int64_t back = 1; back <= 2 && back < frames; ++back) {
      out.narrow(0, back, frames - back)
          .add_(conv_frames(x.narrow(0, 0, frames - back), tap(2 - back), {}));
    }
    return out;
  }
  // The cache keeps the contributions of the last two frames to the next two outputs instead of the
  // frames themselves. They are smaller if the layer reduces the channels, and no window has to be
  // assembled. Tensors are released after their last use, because the autoencoder's memory peaks
  // here.
  const std::vector<int64_t> shape(out.sizes().begin() + 1, out.sizes().end());
  const auto take = [&](const char* what) {
    return pass.cache->take(pass.tile + name + what, started, shape);
  };
  const auto put_last = [&](const char* what, const at::Tensor& all) {
    const at::Tensor last = all.select(0, frames - 1);
    pass.cache->put(pass.tile + name + what, frames == 1 ? last : last.clone());
  };
  if (const at::Tensor next = take(".next"); next.defined()) add_kept(out.select(0, 0), next);
  at::Tensor after = take(".after");
  if (after.defined() && frames > 1) add_kept(out.select(0, 1), after);
  {
    const at::Tensor oldest = conv_frames(x, tap(0), {});
    if (frames > 2) out.narrow(0, 2, frames - 2).add_(oldest.narrow(0, 0, frames - 2));
    if (frames > 1) after = oldest.select(0, frames - 2).clone();
    put_last(".after", oldest);
  }
  const at::Tensor middle = conv_frames(x, tap(1), {});
  if (frames > 1) out.narrow(0, 1, frames - 1).add_(middle.narrow(0, 0, frames - 1));
  if (after.defined()) add_kept(middle.select(0, frames - 1), after);
  put_last(".next", middle);
  return out;
}

ResidualBlock::ResidualBlock(const Scope& scope, int64_t in, int64_t out)
    : norm1(scope["norm1"], in),
      norm2(scope["norm2"], out),
      conv1(scope["conv1"], in, out, 3),
      // Residual blocks start as the identity, so that a new network is nearly linear and trains
      // like one.
      conv2(scope["conv2"], out, out, 3, init::zeros) {
  if (in != out) shortcut.emplace(scope["conv_shortcut"], in, out);
}

at::Tensor ResidualBlock::operator()(at::Tensor x, const VaePass& pass) const {
  at::Tensor around = shortcut ? (*shortcut)(x) : x;
  at::Tensor h = conv1(norm1.silu(std::move(x)), pass);
  h = conv2(norm2.silu(std::move(h)), pass);
  return add_to(std::move(h), around);
}

FrameAttention::FrameAttention(const Scope& scope, int64_t channels)
    : norm(scope["norm"], channels, /*image=*/true),
      to_qkv(scope["to_qkv"], channels, 3 * channels, 1),
      proj(PixelConv::zero(scope["proj"], channels, channels)) {}

at::Tensor FrameAttention::operator()(at::Tensor x) const {
  const int64_t frames = x.size(0) * x.size(1), pixels = x.size(2) * x.size(3);
  const at::Tensor qkv = to_qkv(norm(x)).reshape({frames, 1, pixels, 3 * x.size(4)});
  const std::vector<at::Tensor> parts = qkv.chunk(3, -1);
  const at::Tensor read = at::scaled_dot_product_attention(parts[0], parts[1], parts[2]);
  return add_to(proj(read.reshape(x.sizes())), x);
}

MiddleBlock::MiddleBlock(const Scope& scope, int64_t channels)
    : attention(scope["attentions"][0], channels) {
  for (int64_t i = 0; i < 2; ++i) resnets.emplace_back(scope["resnets"][i], channels, channels);
}

at::Tensor MiddleBlock::operator()(at::Tensor x, const VaePass& pass) const {
  return resnets[1](attention(resnets[0](std::move(x), pass)), pass);
}

}  // namespace loci::model
