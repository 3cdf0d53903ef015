// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/elementwise/norm_silu.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "loci/base/error.h"
#include "loci/kernels/machine/kernel_table.h"

namespace loci::kernels {

namespace {

// Rows per task. Fixed, so that the gradient of gamma is summed in the same order for any number of
// threads.
constexpr int64_t kRows = 2048;

template <typename Task>
void for_rows(int64_t rows, const Task& task) {
  const int64_t tasks = (rows + kRows - 1) / kRows;
  at::parallel_for(0, tasks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) task(i, i * kRows, std::min(rows, (i + 1) * kRows));
  });
}

// gamma is FP32.
void forward_into(const at::Tensor& x, const at::Tensor& gamma, at::Tensor& y) {
  const int64_t channels = x.size(-1), rows = x.numel() / channels;
  const auto* g = gamma.const_data_ptr<float>();
  const norm_silu_kernels::Kernels& loops = kernel_table().norm_silu;
  if (x.scalar_type() == at::kBFloat16) {
    const auto* from = reinterpret_cast<const uint16_t*>(x.const_data_ptr<at::BFloat16>());
    auto* to = reinterpret_cast<uint16_t*>(y.mutable_data_ptr<at::BFloat16>());
    for_rows(rows, [&](int64_t, int64_t begin, int64_t end) {
      loops.forward_bf16(from + begin * channels, g, to + begin * channels, end - begin, channels);
    });
    return;
  }
  const auto* from = x.const_data_ptr<float>();
  auto* to = y.mutable_data_ptr<float>();
  for_rows(rows, [&](int64_t, int64_t begin, int64_t end) {
    loops.forward(from + begin * channels, g, to + begin * channels, end - begin, channels);
  });
}

class NormSilu : public torch::autograd::Function<NormSilu> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& gamma) {
    context->save_for_backward({x, gamma});
    at::Tensor y = at::empty_like(x);
    forward_into(x, gamma, y);
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const at::Tensor x = saved[0].to(at::kFloat), gamma = saved[1];
    const at::Tensor grad_y = gradients[0].to(at::kFloat).contiguous();
    const int64_t channels = x.size(-1), rows = x.numel() / channels;
    at::Tensor grad_x = at::empty_like(x);
    at::Tensor parts = at::zeros({(rows + kRows - 1) / kRows, channels}, gamma.options());
    const auto* from = x.const_data_ptr<float>();
    const auto* g = gamma.const_data_ptr<float>();
    const auto* dy = grad_y.const_data_ptr<float>();
    auto* dx = grad_x.mutable_data_ptr<float>();
    auto* dg = parts.mutable_data_ptr<float>();
    const norm_silu_kernels::Kernels& loops = kernel_table().norm_silu;
    for_rows(rows, [&](int64_t task, int64_t begin, int64_t end) {
      loops.backward(from + begin * channels, g, dy + begin * channels, dx + begin * channels,
                     dg + task * channels, end - begin, channels);
    });
    return {grad_x.to(saved[0].scalar_type()), parts.sum(0)};
  }
};

}  // namespace

at::Tensor norm_silu_by_libtorch(const at::Tensor& x, const at::Tensor& gamma) {
  const at::Tensor length = at::norm(x, 2, {-1}, /*keepdim=*/true).clamp_min(1e-12);
  return at::silu(x / length *
                  (gamma.to(x.scalar_type()) * std::sqrt(static_cast<double>(x.size(-1)))));
}

at::Tensor norm_silu(at::Tensor x, const at::Tensor& gamma) {
  LOCI_CHECK(gamma.dim() == 1 && gamma.size(0) == x.size(-1), "gamma has {} values for {} channels",
             gamma.numel(), x.size(-1));
  const bool known = x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16;
  if (!known || !x.is_cpu()) return norm_silu_by_libtorch(x, gamma);
  if (!x.is_contiguous()) x = x.contiguous();
  const at::Tensor wide = gamma.to(at::kFloat).contiguous();
  if (at::GradMode::is_enabled() && (x.requires_grad() || wide.requires_grad())) {
    return NormSilu::apply(x, wide);
  }
  at::Tensor y = x.storage().use_count() == 1 && x.use_count() == 1 ? x : at::empty_like(x);
  forward_into(x, wide, y);
  return y;
}

}  // namespace loci::kernels
