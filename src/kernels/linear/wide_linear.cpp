// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/linear/wide_linear.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/error.h"
#include "loci/kernels/machine/cpu_features.h"

namespace loci::kernels {

namespace {

// Number of weights converted at a time: 16 MiB of FP32. With fewer, libtorch packs x again for
// every few columns of the result. For the weights of the 5B model, 256 to 3,072 rows are equally
// fast.
constexpr int64_t kWidened = 4 << 20;
constexpr int64_t kRowStep = 64;

bool wants_gradient(const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); }

}  // namespace

bool widening_pays(const at::Tensor& x, const at::Tensor& weight) {
  if (!x.is_cpu() || !weight.is_cpu() || weight.scalar_type() != at::kBFloat16) return false;
  return x.scalar_type() == at::kFloat ||
         (x.scalar_type() == at::kBFloat16 && isa_level() < IsaLevel::kAvx512Bf16);
}

at::Tensor wide_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  LOCI_CHECK(x.dim() >= 1 && weight.dim() == 2 && x.size(-1) == weight.size(1),
             "x has {} inputs, which does not match a weight of {} dimensions", x.size(-1),
             weight.dim());
  LOCI_CHECK(!bias.defined() || (bias.dim() == 1 && bias.size(0) == weight.size(0)),
             "the bias must have one number for each of {} outputs", weight.size(0));
  const int64_t in = weight.size(1), out = weight.size(0);
  const at::Tensor rows = x.reshape({-1, in}).to(at::kFloat);
  const at::Tensor shift = bias.defined() ? bias.to(at::kFloat) : at::Tensor();
  std::vector<int64_t> shape(x.sizes().begin(), x.sizes().end());
  shape.back() = out;
  at::Tensor result = at::empty(shape, x.options());
  const at::Tensor flat = result.view({-1, out});
  const int64_t most =
      std::min(out, std::max(kRowStep, kWidened / std::max<int64_t>(in, 1) / kRowStep * kRowStep));
  const at::Tensor buffer = at::empty({most, in}, at::kFloat);
  for (int64_t begin = 0; begin < out; begin += most) {
    const int64_t count = std::min(most, out - begin);
    const at::Tensor wide = buffer.narrow(0, 0, count).copy_(weight.narrow(0, begin, count));
    const at::Tensor part = shift.defined()
                                ? at::addmm(shift.narrow(0, begin, count), rows, wide.t())
                                : at::mm(rows, wide.t());
    flat.narrow(1, begin, count).copy_(part);
  }
  return result;
}

at::Tensor linear_by_libtorch(const at::Tensor& x, const at::Tensor& weight,
                              const at::Tensor& bias) {
  return at::linear(x, weight.to(x.scalar_type()),
                    bias.defined() ? bias.to(x.scalar_type()) : at::Tensor());
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const bool differentiate = at::GradMode::is_enabled() &&
                             (wants_gradient(x) || wants_gradient(weight) || wants_gradient(bias));
  return !differentiate && widening_pays(x, weight) ? wide_linear(x, weight, bias)
                                                    : linear_by_libtorch(x, weight, bias);
}

}  // namespace loci::kernels
