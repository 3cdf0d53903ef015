// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/elementwise/residual_norm.h"

#include <algorithm>
#include <optional>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "loci/base/error.h"
#include "loci/kernels/elementwise/residual_norm_run.h"

namespace loci::kernels {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Maybe = std::optional<at::Tensor>;

class GateAddNorm : public torch::autograd::Function<GateAddNorm> {
 public:
  // The tensors of `form` are passed separately, so that autograd sees them.
  static variable_list forward(AutogradContext* context, const at::Tensor& /*x*/,
                               const Maybe& /*y*/, const Maybe& /*gate*/, const Maybe& /*scale*/,
                               const Maybe& /*shift*/, const ResidualNorm& form) {
    context->set_materialize_grads(false);
    const auto [sum, norm] = form.forward();
    const bool added = form.y.defined();
    context->save_for_backward({added ? sum : form.x, form.y, form.gate, form.scale});
    context->saved_data["base"] = form.base;
    context->saved_data["eps"] = form.eps;
    if (!form.normed) return {sum};
    if (!added) return {norm};
    return {sum, norm};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    ResidualNorm form;
    form.x = saved[0];
    form.y = saved[1];
    form.gate = saved[2];
    form.scale = saved[3];
    form.base = context->saved_data["base"].toDouble();
    form.eps = context->saved_data["eps"].toDouble();
    form.normed = form.scale.defined();
    const bool added = form.y.defined(), gated = form.gate.defined();
    at::Tensor grad_sum, grad_norm;
    if (added) grad_sum = gradients[0];
    if (form.normed) grad_norm = gradients.back();
    if (grad_sum.defined()) grad_sum = grad_sum.contiguous();
    if (grad_norm.defined()) grad_norm = grad_norm.contiguous();
    form.dtype = added                 ? form.y.scalar_type()
                 : grad_norm.defined() ? grad_norm.scalar_type()
                                       : at::kFloat;
    // Without norm and gate, the gradients of both terms equal that of the sum.
    const at::Tensor grad_x = grad_norm.defined() ? at::empty_like(form.x) : grad_sum;
    const bool own_y = added && (gated || form.dtype != at::kFloat);
    at::Tensor grad_y = own_y ? at::empty_like(form.y) : added ? grad_x : at::Tensor();
    at::Tensor sums;
    if (grad_norm.defined() || own_y) {
      const at::Tensor written = grad_norm.defined() ? grad_x : at::Tensor();
      const at::Tensor written_y = own_y ? grad_y : at::Tensor();
      sums = form.backward(grad_sum, grad_norm, written, written_y);
    }
    variable_list result = {grad_x, grad_y, at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
    if (gated) result[2] = vector_gradient(sums, 0, form.gate);
    if (grad_norm.defined()) {
      result[3] = vector_gradient(sums, 1, form.scale);
      result[4] = vector_gradient(sums, 2, form.scale);
    }
    return result;
  }
};

bool differentiated(const ResidualNorm& form) {
  if (!at::GradMode::is_enabled()) return false;
  const auto tensors = {form.x, form.y, form.gate, form.scale, form.shift};
  return std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor& tensor) {
    return tensor.defined() && tensor.requires_grad();
  });
}

void check_vectors(const at::Tensor& x, const at::Tensor& vectors, const char* name) {
  if (!vectors.defined()) return;
  const bool frames = vectors.dim() == 4 && vectors.size(0) == x.size(0) && vectors.size(2) == 1 &&
                      vectors.size(1) > 0 && x.size(1) % vectors.size(1) == 0;
  LOCI_CHECK(x.dim() == 3 && vectors.size(-1) == x.size(-1) && (vectors.dim() == 1 || frames),
             "{} must be [B, F, 1, width] or [width] for x [B, F*T, width]", name);
}

// Whether the kernel supports this input.
bool loops_take(const at::Tensor& x, at::ScalarType products) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && x.numel() > 0 &&
         (products == at::kFloat || products == at::kBFloat16);
}

variable_list compute(ResidualNorm form) {
  form.x = form.x.contiguous();
  if (form.y.defined()) form.y = form.y.contiguous();
  for (at::Tensor* vectors : {&form.gate, &form.scale, &form.shift}) {
    if (vectors->defined()) *vectors = vectors->to(at::kFloat);
  }
  if (differentiated(form)) {
    const auto maybe = [](const at::Tensor& tensor) {
      return tensor.defined() ? Maybe(tensor) : Maybe();
    };
    return GateAddNorm::apply(form.x, maybe(form.y), maybe(form.gate), maybe(form.scale),
                              maybe(form.shift), form);
  }
  auto [sum, norm] = form.forward();
  return {sum, norm};
}

// [B, F*T, width] → [B, F, T, width], to broadcast vectors of frames.
at::Tensor by_frames(const at::Tensor& x, const at::Tensor& vectors) {
  return vectors.dim() == 1 ? x.unsqueeze(1) : x.unflatten(1, {vectors.size(1), -1});
}

}  // namespace

at::Tensor affine_norm_by_libtorch(const at::Tensor& x, const NormAffine& norm) {
  const at::Tensor normed = at::layer_norm(x, {x.size(-1)}, {}, {}, norm.eps);
  const at::Tensor scale = norm.scale.to(x.scalar_type()) + norm.base;
  return at::addcmul(norm.shift.to(x.scalar_type()), by_frames(normed, norm.scale), scale)
      .flatten(1, 2)
      .to(norm.dtype);
}

at::Tensor gated_add_by_libtorch(const at::Tensor& x, const at::Tensor& gate, const at::Tensor& y) {
  const at::Tensor wide = y.to(x.scalar_type());
  if (!gate.defined()) return x + wide;
  return at::addcmul(by_frames(x, gate), gate.to(x.scalar_type()), by_frames(wide, gate))
      .flatten(1, 2);
}

at::Tensor affine_norm(const at::Tensor& x, const NormAffine& norm) {
  check_vectors(x, norm.scale, "scale");
  LOCI_CHECK(norm.shift.sizes() == norm.scale.sizes(), "scale and shift must have the same shape");
  if (!loops_take(x, norm.dtype)) return affine_norm_by_libtorch(x, norm);
  return compute({.x = x,
                  .scale = norm.scale,
                  .shift = norm.shift,
                  .base = norm.base,
                  .eps = norm.eps,
                  .dtype = norm.dtype,
                  .normed = true})
      .back();
}

at::Tensor gated_add(const at::Tensor& x, const at::Tensor& gate, const at::Tensor& y) {
  LOCI_CHECK(x.sizes() == y.sizes(), "x and y must have the same shape");
  check_vectors(x, gate, "gate");
  if (!loops_take(x, y.scalar_type())) return gated_add_by_libtorch(x, gate, y);
  return compute({.x = x, .y = y, .gate = gate, .dtype = y.scalar_type()}).front();
}

std::pair<at::Tensor, at::Tensor> gated_add_norm(const at::Tensor& x, const at::Tensor& gate,
                                                 const at::Tensor& y, const NormAffine& norm) {
  LOCI_CHECK(x.sizes() == y.sizes(), "x and y must have the same shape");
  check_vectors(x, gate, "gate");
  check_vectors(x, norm.scale, "scale");
  LOCI_CHECK(norm.shift.sizes() == norm.scale.sizes(), "scale and shift must have the same shape");
  const bool same_frames = !gate.defined() || gate.dim() == 1 || norm.scale.dim() == 1 ||
                           gate.size(1) == norm.scale.size(1);
  if (!loops_take(x, y.scalar_type()) || y.scalar_type() != norm.dtype || !same_frames) {
    const at::Tensor sum = gated_add(x, gate, y);
    return {sum, affine_norm(sum, norm)};
  }
  const variable_list result = compute({.x = x,
                                        .y = y,
                                        .gate = gate,
                                        .scale = norm.scale,
                                        .shift = norm.shift,
                                        .base = norm.base,
                                        .eps = norm.eps,
                                        .dtype = norm.dtype,
                                        .normed = true});
  return {result.front(), result.back()};
}

}  // namespace loci::kernels
