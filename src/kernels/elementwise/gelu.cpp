// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/elementwise/gelu.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "loci/kernels/machine/kernel_table.h"

namespace loci::kernels {

namespace {

constexpr int64_t kGeluTask = 1 << 14;

const uint16_t* half_bits(const at::Tensor& x) {
  return static_cast<const uint16_t*>(x.const_data_ptr());
}
uint16_t* half_memory(const at::Tensor& x) { return static_cast<uint16_t*>(x.mutable_data_ptr()); }

void gelu_into(const at::Tensor& x, const at::Tensor& y) {
  const gelu_kernels::Kernels& loops = kernel_table().gelu;
  const bool half = x.scalar_type() == at::kBFloat16;
  at::parallel_for(0, x.numel(), kGeluTask, [&](int64_t begin, int64_t end) {
    if (half) return loops.forward_bf16(half_bits(x) + begin, half_memory(y) + begin, end - begin);
    loops.forward(x.const_data_ptr<float>() + begin, y.mutable_data_ptr<float>() + begin,
                  end - begin);
  });
}

class Gelu : public torch::autograd::Function<Gelu> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x) {
    context->save_for_backward({x});
    at::Tensor y = at::empty_like(x);
    gelu_into(x, y);
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const at::Tensor x = context->get_saved_variables()[0];
    const at::Tensor grad_y = gradients[0].contiguous();
    at::Tensor grad_x = at::empty_like(x);
    const gelu_kernels::Kernels& loops = kernel_table().gelu;
    const bool half = x.scalar_type() == at::kBFloat16;
    at::parallel_for(0, x.numel(), kGeluTask, [&](int64_t begin, int64_t end) {
      if (half) {
        return loops.backward_bf16(half_bits(x) + begin, half_bits(grad_y) + begin,
                                   half_memory(grad_x) + begin, end - begin);
      }
      loops.backward(x.const_data_ptr<float>() + begin, grad_y.const_data_ptr<float>() + begin,
                     grad_x.mutable_data_ptr<float>() + begin, end - begin);
    });
    return {grad_x};
  }
};

}  // namespace

at::Tensor gelu(at::Tensor x) {
  const bool known = x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16;
  if (!known || !x.is_cpu()) return at::gelu(x, "tanh");
  if (!x.is_contiguous()) x = x.contiguous();
  if (at::GradMode::is_enabled() && x.requires_grad()) return Gelu::apply(x);
  const at::Tensor y = x.storage().use_count() == 1 && x.use_count() == 1 ? x : at::empty_like(x);
  gelu_into(x, y);
  return y;
}

}  // namespace loci::kernels
