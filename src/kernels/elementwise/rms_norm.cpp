// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/elementwise/rms_norm.h"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "loci/base/error.h"
#include "loci/kernels/elementwise/head_map_input.h"
#include "loci/kernels/machine/kernel_table.h"

namespace loci::kernels {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Rows per task. Fixed, so that the gradient of the weight is summed in the same order for any
// number of threads.
constexpr int64_t kRmsRows = 64;

// Runs `loop` on all rows, with separate scratch memory for each thread. `prepare` sets the fields
// that differ between tasks.
template <typename Work, typename Prepare>
void run_rows(const Work& work, int64_t rows, void (*loop)(const Work&), const Prepare& prepare) {
  at::parallel_for(0, (rows + kRmsRows - 1) / kRmsRows, 1, [&](int64_t first, int64_t last) {
    std::vector<float> scratch(static_cast<size_t>(2 * work.width + 4 * work.map.pairs));
    for (int64_t task = first; task < last; ++task) {
      Work part = work;
      part.scratch = scratch.data();
      part.begin = task * kRmsRows;
      part.end = std::min(rows, part.begin + kRmsRows);
      prepare(part, task);
      loop(part);
    }
  });
}

// The number of heads of a row and their map. count 0: no map.
struct Heads {
  int64_t count = 0;
  HeadMap map;  // prepared

  head_map_kernels::TokenMap tokens(const at::Tensor& x, bool transposed) const {
    if (count == 0) return {};
    return token_map(map, x.size(0), x.size(1), count, x.size(2) / count, transposed);
  }
};

template <typename T>
void run_forward(const at::Tensor& x, const at::Tensor& weight, double eps, const Heads& heads,
                 const at::Tensor& norm, const at::Tensor& mapped,
                 void (*loop)(const rms_norm_kernels::Forward<T>&)) {
  rms_norm_kernels::Forward<T> work{};
  work.x = static_cast<const T*>(x.const_data_ptr());
  work.weight = weight.const_data_ptr<float>();
  if (norm.defined()) work.norm = static_cast<T*>(norm.mutable_data_ptr());
  if (mapped.defined()) work.mapped = static_cast<T*>(mapped.mutable_data_ptr());
  work.map = heads.tokens(x, false);
  work.eps = static_cast<float>(eps);
  work.width = x.size(-1);
  run_rows(work, x.numel() / work.width, loop, [](auto&, int64_t) {});
}

struct RmsOutput {
  at::Tensor norm, mapped;  // shape of x; undefined unless requested
};

RmsOutput rms_forward(const at::Tensor& x, const at::Tensor& weight, double eps, const Heads& heads,
                      bool want_norm) {
  RmsOutput output;
  if (want_norm) output.norm = at::empty_like(x);
  if (heads.count > 0) output.mapped = at::empty_like(x);
  const rms_norm_kernels::Kernels& loops = kernel_table().rms_norm;
  if (x.scalar_type() == at::kBFloat16) {
    run_forward<uint16_t>(x, weight, eps, heads, output.norm, output.mapped, loops.forward_bf16);
  } else {
    run_forward<float>(x, weight, eps, heads, output.norm, output.mapped, loops.forward);
  }
  return output;
}

// Returns the gradients of x and of the weight.
template <typename T>
variable_list run_backward(const at::Tensor& x, const at::Tensor& weight, double eps,
                           const Heads& heads, const at::Tensor& grad_norm,
                           const at::Tensor& grad_mapped,
                           void (*loop)(const rms_norm_kernels::Backward<T>&)) {
  const int64_t width = x.size(-1), rows = x.numel() / width;
  at::Tensor grad_x = at::empty_like(x);
  at::Tensor sums = at::empty({(rows + kRmsRows - 1) / kRmsRows, width}, weight.options());
  rms_norm_kernels::Backward<T> work{};
  work.x = static_cast<const T*>(x.const_data_ptr());
  work.weight = weight.const_data_ptr<float>();
  if (grad_norm.defined()) work.grad_norm = static_cast<const T*>(grad_norm.const_data_ptr());
  if (grad_mapped.defined()) work.grad_mapped = static_cast<const T*>(grad_mapped.const_data_ptr());
  work.grad_x = static_cast<T*>(grad_x.mutable_data_ptr());
  work.map = heads.tokens(x, true);
  work.eps = static_cast<float>(eps);
  work.width = width;
  auto* all_sums = sums.mutable_data_ptr<float>();
  run_rows(work, rows, loop, [&](rms_norm_kernels::Backward<T>& part, int64_t task) {
    part.sums = all_sums + task * width;
  });
  for (int64_t task = 1; task < sums.size(0); ++task) {
    const float* more = all_sums + task * width;
    for (int64_t c = 0; c < width; ++c) all_sums[c] += more[c];
  }
  return {grad_x, sums.size(0) == 1 ? sums[0] : sums[0].clone()};
}

class NormHeads : public torch::autograd::Function<NormHeads> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& x,
                               const at::Tensor& weight, double eps, const Heads& heads,
                               bool want_norm) {
    context->set_materialize_grads(false);
    context->save_for_backward({x, weight});
    context->saved_data["eps"] = eps;
    context->saved_data["heads"] = heads.count;
    context->saved_data["want_norm"] = want_norm;
    if (heads.count > 0) hold_map(*context, heads.map);
    const RmsOutput output = rms_forward(x, weight, eps, heads, want_norm);
    variable_list result;
    if (want_norm) result.push_back(output.norm);
    if (heads.count > 0) result.push_back(output.mapped);
    return result;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    Heads heads;
    heads.count = context->saved_data["heads"].toInt();
    if (heads.count > 0) heads.map = held_map(*context);
    at::Tensor grad_norm, grad_mapped;
    if (context->saved_data["want_norm"].toBool()) grad_norm = gradients.front();
    if (heads.count > 0) grad_mapped = gradients.back();
    if (grad_norm.defined()) grad_norm = grad_norm.contiguous();
    if (grad_mapped.defined()) grad_mapped = grad_mapped.contiguous();
    const double eps = context->saved_data["eps"].toDouble();
    const rms_norm_kernels::Kernels& loops = kernel_table().rms_norm;
    variable_list result = saved[0].scalar_type() == at::kBFloat16
                               ? run_backward<uint16_t>(saved[0], saved[1], eps, heads, grad_norm,
                                                        grad_mapped, loops.backward_bf16)
                               : run_backward<float>(saved[0], saved[1], eps, heads, grad_norm,
                                                     grad_mapped, loops.backward);
    result.resize(5);
    return result;
  }
};

void check_rms_weight(const at::Tensor& x, const at::Tensor& weight) {
  LOCI_CHECK(weight.dim() == 1 && x.dim() > 0 && weight.size(0) == x.size(-1),
             "expected one weight per channel, got {} for {} channels", weight.numel(), x.size(-1));
}

bool rms_loops_take(const at::Tensor& x) {
  return x.is_cpu() && x.numel() > 0 &&
         (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

RmsOutput rms_compute(const at::Tensor& x, const at::Tensor& weight, double eps, const Heads& heads,
                      bool want_norm) {
  const at::Tensor rows = x.contiguous();
  const at::Tensor wide = weight.to(at::kFloat).contiguous();
  if (!at::GradMode::is_enabled() || !(rows.requires_grad() || wide.requires_grad())) {
    return rms_forward(rows, wide, eps, heads, want_norm);
  }
  const variable_list result = NormHeads::apply(rows, wide, eps, heads, want_norm);
  RmsOutput output;
  if (want_norm) output.norm = result.front();
  if (heads.count > 0) output.mapped = result.back();
  return output;
}

}  // namespace

at::Tensor rms_norm_by_libtorch(const at::Tensor& x, const at::Tensor& weight, double eps) {
  const at::ScalarType wide = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor input = x.to(wide);
  const at::Tensor scale = at::rsqrt(input.square().mean(-1, /*keepdim=*/true) + eps);
  return (input * scale * weight.to(wide)).to(x.scalar_type());
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  check_rms_weight(x, weight);
  if (!rms_loops_take(x)) return rms_norm_by_libtorch(x, weight, eps);
  return rms_compute(x, weight, eps, {}, /*want_norm=*/true).norm;
}

NormedHeads rms_norm_heads(const at::Tensor& x, const at::Tensor& weight, double eps, int64_t heads,
                           const HeadMap& map, bool want_norm) {
  check_rms_weight(x, weight);
  LOCI_CHECK(x.dim() == 3 && heads > 0 && x.size(2) % heads == 0,
             "expected x [B, N, channels] with channels divisible by {} heads", heads);
  check_map(map, x.size(2) / heads);
  const auto as_heads = [&](const at::Tensor& rows) {
    return rows.defined() ? rows.unflatten(-1, {heads, -1}) : rows;
  };
  if (!rms_loops_take(x)) {
    const at::Tensor norm = as_heads(rms_norm_by_libtorch(x, weight, eps));
    return {want_norm ? norm : at::Tensor(), head_map_by_libtorch(norm, map)};
  }
  const RmsOutput output = rms_compute(x, weight, eps, {heads, prepared_map(map)}, want_norm);
  return {as_heads(output.norm), as_heads(output.mapped)};
}

}  // namespace loci::kernels
