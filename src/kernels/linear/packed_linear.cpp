// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/linear/packed_linear.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/error.h"
#include "loci/kernels/machine/kernel_table.h"

namespace loci::kernels {

namespace {

using packed_linear_kernels::byte_inputs;
using packed_linear_kernels::Kernels;
using packed_linear_kernels::kGroup;
using packed_linear_kernels::kPanel;
using packed_linear_kernels::kRowBlock;
using packed_linear_kernels::kRowStep;
using packed_linear_kernels::RowWork;
using packed_linear_kernels::Weights;
using packed_linear_kernels::Work;

// A sum of this many products of at most 255 * 127 fits into INT32.
constexpr int64_t kMostInputs = 65536;

int64_t panel_count(int64_t out) { return (out + kPanel - 1) / kPanel; }

// [out, n] padded with `fill` to full panels: [panels, kPanel, n].
at::Tensor in_panels(const at::Tensor& rows, double fill) {
  const int64_t panels = panel_count(rows.size(0));
  return at::constant_pad_nd(rows, {0, 0, 0, panels * kPanel - rows.size(0)}, fill)
      .unflatten(0, {panels, kPanel});
}

at::Tensor pack(const QuantizedWeight& weight) {
  switch (weight.format) {
    case WeightFormat::kBfloat16:
      break;
    case WeightFormat::kInt8: {
      const at::Tensor whole =
          at::constant_pad_nd(weight.data, {0, byte_inputs(weight.in) - weight.in});
      return in_panels(whole, 0).unflatten(2, {-1, 4}).transpose(1, 2).contiguous();
    }
    case WeightFormat::kInt4: {
      const at::Tensor pairs =
          at::stack({weight.data.bitwise_and(15), weight.data.bitwise_right_shift(4)},
                    2);  // [out, in / 2, 2]
      const at::Tensor panels = in_panels(pairs.flatten(1).narrow(1, 0, weight.in), 8);
      const at::Tensor low = panels.narrow(1, 0, kPanel / 2),
                       high = panels.narrow(1, kPanel / 2, kPanel / 2);
      return low.bitwise_or(high.bitwise_left_shift(4)).transpose(1, 2).contiguous();
    }
  }
  return in_panels(weight.data, 0).transpose(1, 2).contiguous();
}

Weights kernel_format(WeightFormat format) {
  switch (format) {
    case WeightFormat::kInt8:
      return Weights::kInt8;
    case WeightFormat::kInt4:
      return Weights::kInt4;
    case WeightFormat::kBfloat16:
      break;
  }
  return Weights::kBfloat16;
}

bool is_here(const at::Tensor& tensor, at::ScalarType type) {
  return !tensor.defined() || (tensor.device().is_cpu() && tensor.scalar_type() == type);
}

void check(const at::Tensor& x, const LinearEpilogue& epilogue, int64_t in, int64_t out) {
  LOCI_CHECK(x.dim() >= 1 && x.size(-1) == in, "a linear layer of {} inputs got {} inputs", in,
             x.dim() == 0 ? 1 : x.size(-1));
  const at::Tensor &residual = epilogue.residual, &gate = epilogue.gate;
  for (const at::Tensor& term : {residual, epilogue.addend}) {
    LOCI_CHECK(!term.defined() || (term.dim() == x.dim() && term.size(-1) == out &&
                                   term.numel() / out == x.numel() / in),
               "the residual and the addend must have the shape of the result");
  }
  LOCI_CHECK(!gate.defined() || (residual.defined() && gate.dim() == 4 && x.dim() == 3 &&
                                 gate.size(0) == x.size(0) && gate.size(2) == 1 &&
                                 gate.size(3) == out && x.size(1) % gate.size(1) == 0),
             "a gate must be [B, F, 1, out] for x [B, F * T, in] and needs a residual");
}

}  // namespace

PackedLinear::Layout PackedLinear::lay_out(const QuantizedWeight& weight) {
  Layout layout;
  layout.panels = pack(weight);
  if (weight.scale.defined()) {
    const at::Tensor scale = weight.scale.to(at::kFloat).view({weight.out(), -1});
    layout.scale = in_panels(scale, 0).transpose(1, 2).contiguous();
  }
  if (weight.format == WeightFormat::kInt8) {
    layout.column_sum = in_panels(weight.data.sum(1, /*keepdim=*/true, at::kInt), 0).flatten();
  }
  return layout;
}

PackedLinear::PackedLinear(const QuantizedWeight& weight, const at::Tensor& bias)
    : format_(weight.format), in_(weight.in), out_(weight.out()) {
  LOCI_CHECK(weight.data.sizes() == at::IntArrayRef(data_shape(format_, out_, in_)),
             "the data of a weight [{}, {}] has the wrong shape", out_, in_);
  LOCI_CHECK(in_ > 0 && in_ <= kMostInputs, "{} inputs; expected 1 to {}", in_, kMostInputs);
  LOCI_CHECK(format_ == WeightFormat::kBfloat16 ||
                 weight.scale.sizes() == at::IntArrayRef(scale_shape(format_, out_, in_)),
             "the scales of a weight [{}, {}] have the wrong shape", out_, in_);
  const at::NoGradGuard no_grad;
  layout_ = lay_out(weight);
  if (bias.defined()) bias_ = bias.detach().to(at::kFloat).contiguous();
}

at::Tensor PackedLinear::weight() const {
  const at::NoGradGuard no_grad;
  // [panels * kPanel, in] in FP32.
  at::Tensor numbers;
  switch (format_) {
    case WeightFormat::kBfloat16:
      numbers = layout_.panels.transpose(1, 2).flatten(0, 1).to(at::kFloat);
      break;
    case WeightFormat::kInt8:
      numbers =
          layout_.panels.transpose(1, 2).flatten(2).flatten(0, 1).narrow(1, 0, in_).to(at::kFloat) *
          layout_.scale.flatten().unsqueeze(1);
      break;
    case WeightFormat::kInt4: {
      const at::Tensor halves =
          at::cat({layout_.panels.bitwise_and(15), layout_.panels.bitwise_right_shift(4)}, 2);
      numbers = (halves.to(at::kFloat) - 8) *
                layout_.scale.repeat_interleave(kGroup, 1).narrow(1, 0, in_);
      numbers = numbers.transpose(1, 2).flatten(0, 1);
      break;
    }
  }
  return numbers.narrow(0, 0, out_).contiguous();
}

at::Tensor PackedLinear::by_kernel(const at::Tensor& x, const LinearEpilogue& epilogue) const {
  const at::Tensor input = x.contiguous();
  const int64_t rows = input.numel() / in_;
  const bool half = x.scalar_type() == at::kBFloat16;
  std::vector<int64_t> shape = x.sizes().vec();
  shape.back() = out_;
  const at::Tensor residual =
      epilogue.residual.defined() ? epilogue.residual.contiguous() : at::Tensor();
  const at::Tensor gate = epilogue.gate.defined() ? epilogue.gate.contiguous() : at::Tensor();
  const at::Tensor addend = epilogue.addend.defined() ? epilogue.addend.contiguous() : at::Tensor();
  const at::Tensor y = at::empty(shape, residual.defined() ? at::kFloat : x.scalar_type());
  if (rows == 0) return y;

  const Kernels& kernels = kernel_table().packed_linear;
  RowWork row_work{};
  row_work.x = input.const_data_ptr();
  row_work.bfloat16 = half;
  row_work.in = in_;
  at::Tensor prepared = input, row_scale;
  if (format_ == WeightFormat::kInt8) {
    prepared = at::empty({(rows + kRowStep - 1) / kRowStep * kRowStep, byte_inputs(in_)},
                         kernels.int8.number_bytes == 1 ? at::kChar : at::kShort);
    row_scale = at::empty({rows}, at::kFloat);
    row_work.numbers = prepared.mutable_data_ptr();
    row_work.scale = row_scale.mutable_data_ptr<float>();
  } else if (half) {
    prepared = at::empty({rows, in_}, at::kFloat);
    row_work.wide = prepared.mutable_data_ptr<float>();
  }
  if (!prepared.is_same(input)) {
    at::parallel_for(0, rows, 16, [&](int64_t first, int64_t last) {
      RowWork part = row_work;
      part.first = first;
      part.last = last;
      (part.numbers != nullptr ? kernels.int8.quantize_rows : kernels.wide.widen_rows)(part);
    });
  }

  Work work{};
  work.format = kernel_format(format_);
  work.weights = layout_.panels.const_data_ptr();
  work.scale = layout_.scale.defined() ? layout_.scale.const_data_ptr<float>() : nullptr;
  work.column_sum =
      layout_.column_sum.defined() ? layout_.column_sum.const_data_ptr<int32_t>() : nullptr;
  work.in = in_;
  work.out = out_;
  work.x = prepared.const_data_ptr();
  work.row_scale = row_scale.defined() ? row_scale.const_data_ptr<float>() : nullptr;
  work.epilogue = {.bias = bias_.defined() ? bias_.const_data_ptr<float>() : nullptr,
                   .addend = addend.defined() ? addend.const_data_ptr() : nullptr,
                   .addend_bfloat16 = addend.defined() && addend.scalar_type() == at::kBFloat16,
                   .residual = residual.defined() ? residual.const_data_ptr<float>() : nullptr,
                   .gate = gate.defined() ? gate.const_data_ptr<float>() : nullptr,
                   .gate_rows = gate.defined() ? rows / (gate.size(0) * gate.size(1)) : 1,
                   .gelu = epilogue.gelu};
  work.y = y.mutable_data_ptr();
  work.bfloat16 = y.scalar_type() == at::kBFloat16;
  // Eight panels share a block of rows in the L2 cache; fewer if threads would be idle.
  const int64_t panels = panel_count(out_), blocks = (rows + kRowBlock - 1) / kRowBlock;
  const int64_t together =
      std::clamp<int64_t>(panels * blocks / at::get_num_threads(), 1, std::min<int64_t>(8, panels));
  const int64_t columns = (panels + together - 1) / together;
  const auto multiply =
      format_ == WeightFormat::kInt8 ? kernels.int8.multiply : kernels.wide.multiply;
  at::parallel_for(0, blocks * columns, 1, [&](int64_t first, int64_t last) {
    Work part = work;
    const auto scratch =
        std::make_unique_for_overwrite<float[]>(packed_linear_kernels::scratch_size(together));
    part.scratch = scratch.get();
    for (int64_t task = first; task < last; ++task) {
      part.first_row = task / columns * kRowBlock;
      part.last_row = std::min(part.first_row + kRowBlock, rows);
      part.first_panel = task % columns * together;
      part.last_panel = std::min(part.first_panel + together, panels);
      multiply(part);
    }
  });
  return y;
}

at::Tensor PackedLinear::operator()(const at::Tensor& x, const LinearEpilogue& epilogue) const {
  check(x, epilogue, in_, out_);
  const auto tracked = [](const at::Tensor& t) { return t.defined() && t.requires_grad(); };
  const auto narrow = [](const at::Tensor& t) {
    return is_here(t, at::kFloat) || is_here(t, at::kBFloat16);
  };
  const bool differentiate =
      at::GradMode::is_enabled() && (tracked(x) || tracked(epilogue.addend) ||
                                     tracked(epilogue.residual) || tracked(epilogue.gate));
  const bool applies = narrow(x) && narrow(epilogue.addend) &&
                       is_here(epilogue.residual, at::kFloat) &&
                       is_here(epilogue.gate, at::kFloat) && !differentiate;
  if (applies) return by_kernel(x, epilogue);
  return packed_linear_by_libtorch(weight(), format_, bias_, x, epilogue);
}

at::Tensor apply_epilogue(at::Tensor y, const LinearEpilogue& epilogue) {
  const at::Tensor &residual = epilogue.residual, &gate = epilogue.gate;
  if (epilogue.gelu) y = at::gelu(y, "tanh");
  if (epilogue.addend.defined()) y = epilogue.addend + y;
  if (!residual.defined()) return y;
  if (!gate.defined()) return residual + y;
  const auto frames = [&](const at::Tensor& x) { return x.unflatten(1, {gate.size(1), -1}); };
  return at::addcmul(frames(residual), gate, frames(y.to(residual.scalar_type()))).flatten(1, 2);
}

at::Tensor packed_linear_by_libtorch(const at::Tensor& weight, WeightFormat format,
                                     const at::Tensor& bias, const at::Tensor& x,
                                     const LinearEpilogue& epilogue) {
  const at::ScalarType type = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::TensorOptions there = x.options().dtype(type);
  at::Tensor input = x.to(type);
  if (format == WeightFormat::kInt8) input = quantize_dequantize_rows(input);
  const at::Tensor y = apply_epilogue(
      at::linear(input, weight.to(there), bias.defined() ? bias.to(there) : at::Tensor()),
      epilogue);
  return epilogue.residual.defined() ? y : y.to(x.scalar_type());
}

}  // namespace loci::kernels
