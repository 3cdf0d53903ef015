// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/convolution/conv_3x3.h"

#include <algorithm>
#include <optional>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "loci/base/error.h"
#include "loci/kernels/machine/kernel_table.h"

namespace loci::kernels {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Output channels per task: whole tiles of every instruction set.
constexpr int64_t kOutPerTask = 12;

at::Tensor channels_second(const at::Tensor& pictures) { return pictures.permute({0, 3, 1, 2}); }
at::Tensor channels_last(const at::Tensor& pictures) {
  return pictures.permute({0, 2, 3, 1}).contiguous();
}

// Output [N, out, H, W], a tensor of its own.
at::Tensor convolve(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::conv2d(channels_second(x), weight, bias, {1, 1}, {1, 1});
}

at::Tensor weight_gradient(const at::Tensor& x, const at::Tensor& grad_y) {
  const int64_t out = grad_y.size(3);
  at::Tensor gradient = at::zeros({out, 3, 3, x.size(3)}, x.options());
  conv_weight_gradient_kernels::Work work{};
  work.x = x.const_data_ptr<float>();
  work.grad_y = grad_y.const_data_ptr<float>();
  work.grad_weight = gradient.mutable_data_ptr<float>();
  work.pictures = x.size(0);
  work.height = x.size(1);
  work.width = x.size(2);
  work.in = x.size(3);
  work.out = out;
  const auto run = kernel_table().conv_weight_gradient.run;
  const int64_t tasks = (out + kOutPerTask - 1) / kOutPerTask;
  at::parallel_for(0, tasks, 1, [&](int64_t begin, int64_t end) {
    conv_weight_gradient_kernels::Work part = work;
    part.first_out = begin * kOutPerTask;
    part.last_out = std::min(out, end * kOutPerTask);
    run(part);
  });
  return gradient.permute({0, 3, 1, 2});
}

// Its output is [N, out, H, W], since a view of it as [N, H, W, out], made here, could not be
// modified in place later.
class Conv3x3 : public torch::autograd::Function<Conv3x3> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias) {
    context->save_for_backward({x, weight});
    context->saved_data["bias"] = bias.has_value();
    return convolve(x, weight, bias.value_or(at::Tensor()));
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1];
    const at::Tensor grad_y = channels_last(gradients[0]);
    at::Tensor grad_x, grad_weight, grad_bias;
    if (context->needs_input_grad(0)) {
      grad_x = std::get<0>(at::convolution_backward(channels_second(grad_y), channels_second(x),
                                                    weight, std::nullopt, {1, 1}, {1, 1}, {1, 1},
                                                    /*transposed=*/false, {0, 0}, /*groups=*/1,
                                                    {true, false, false}))
                   .permute({0, 2, 3, 1});
    }
    if (context->needs_input_grad(1)) grad_weight = weight_gradient(x, grad_y);
    if (context->saved_data["bias"].toBool() && context->needs_input_grad(2)) {
      grad_bias = grad_y.sum({0, 1, 2});
    }
    return {grad_x, grad_weight, grad_bias};
  }
};

}  // namespace

at::Tensor conv_3x3_by_libtorch(const at::Tensor& x, const at::Tensor& weight,
                                const at::Tensor& bias) {
  return channels_last(convolve(x, weight, bias));
}

at::Tensor conv_3x3(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  LOCI_CHECK(x.dim() == 4 && weight.dim() == 4 && weight.size(2) == 3 && weight.size(3) == 3 &&
                 weight.size(1) == x.size(3),
             "a 3x3 convolution of [{}] with a weight [{}]", fmt::join(x.sizes(), ", "),
             fmt::join(weight.sizes(), ", "));
  const bool own = at::GradMode::is_enabled() && weight.requires_grad() && x.is_cpu() &&
                   x.scalar_type() == at::kFloat && weight.scalar_type() == at::kFloat;
  if (!own) return conv_3x3_by_libtorch(x, weight, bias);
  return channels_last(
      Conv3x3::apply(x.contiguous(), weight, bias.defined() ? std::optional(bias) : std::nullopt));
}

}  // namespace loci::kernels
