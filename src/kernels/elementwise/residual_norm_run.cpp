// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/elementwise/residual_norm_run.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "loci/kernels/machine/kernel_table.h"

namespace loci::kernels {

namespace {

// Rows per task, all of one group. The sums of a group are the sums of its tasks, in order.
constexpr int64_t kNormRows = 64;

// One vector per group of rows: [groups, width] with any stride between groups.
struct GroupVectors {
  at::Tensor rows;

  explicit GroupVectors(const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    rows = tensor.reshape({-1, tensor.size(-1)});
    if (rows.stride(1) != 1) rows = rows.contiguous();
  }
  const float* of(int64_t group) const {
    if (!rows.defined()) return nullptr;
    return rows.const_data_ptr<float>() + (rows.size(0) > 1 ? group * rows.stride(0) : 0);
  }
};

struct RowTasks {
  int64_t groups, group_rows, group_tasks;

  RowTasks(const at::Tensor& x, int64_t count)
      : groups(count),
        group_rows(x.numel() / x.size(-1) / count),
        group_tasks((group_rows + kNormRows - 1) / kNormRows) {}

  // run(task, group, begin, end)
  template <typename Run>
  void each(const Run& run) const {
    at::parallel_for(0, groups * group_tasks, 1, [&](int64_t first, int64_t last) {
      for (int64_t task = first; task < last; ++task) {
        const int64_t group = task / group_tasks, part = task % group_tasks;
        const int64_t begin = group * group_rows + part * kNormRows;
        run(task, group, begin, std::min(begin + kNormRows, (group + 1) * group_rows));
      }
    });
  }
};

template <typename T>
const T* numbers_of(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<const T*>(tensor.const_data_ptr()) : nullptr;
}
template <typename T>
T* memory_of(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<T*>(tensor.mutable_data_ptr()) : nullptr;
}

int64_t groups_of(const ResidualNorm& form) {
  for (const at::Tensor& vectors : {form.gate, form.scale}) {
    if (vectors.defined() && vectors.dim() > 1) return vectors.numel() / vectors.size(-1);
  }
  return 1;
}

template <typename T>
void run_forward(const ResidualNorm& form, const at::Tensor& sum, const at::Tensor& norm,
                 void (*loop)(const residual_norm_kernels::Forward<T>&)) {
  const GroupVectors gates(form.gate), scales(form.scale), shifts(form.shift);
  residual_norm_kernels::Forward<T> work{};
  work.x = form.x.const_data_ptr<float>();
  work.y = numbers_of<T>(form.y);
  work.sum = memory_of<float>(sum);
  work.norm = memory_of<T>(norm);
  work.base = static_cast<float>(form.base);
  work.eps = static_cast<float>(form.eps);
  work.width = form.x.size(-1);
  RowTasks(form.x, groups_of(form)).each([&](int64_t, int64_t group, int64_t begin, int64_t end) {
    residual_norm_kernels::Forward<T> part = work;
    part.gate = gates.of(group);
    part.scale = scales.of(group);
    part.shift = shifts.of(group);
    part.begin = begin;
    part.end = end;
    loop(part);
  });
}

template <typename T>
at::Tensor run_backward(const ResidualNorm& form, const at::Tensor& grad_sum,
                        const at::Tensor& grad_norm, const at::Tensor& grad_x,
                        const at::Tensor& grad_y,
                        void (*loop)(const residual_norm_kernels::Backward<T>&)) {
  const GroupVectors gates(form.gate), scales(form.scale);
  const RowTasks tasks(form.x, groups_of(form));
  const int64_t width = form.x.size(-1);
  at::Tensor sums = at::empty({tasks.groups, tasks.group_tasks, 3, width}, form.x.options());
  residual_norm_kernels::Backward<T> work{};
  work.sum = form.x.const_data_ptr<float>();
  work.y = numbers_of<T>(form.y);
  work.base = static_cast<float>(form.base);
  work.eps = static_cast<float>(form.eps);
  work.grad_sum = numbers_of<float>(grad_sum);
  work.grad_norm = numbers_of<T>(grad_norm);
  work.grad_x = memory_of<float>(grad_x);
  work.grad_y = memory_of<T>(grad_y);
  work.width = width;
  auto* task_sums = sums.mutable_data_ptr<float>();
  tasks.each([&](int64_t task, int64_t group, int64_t begin, int64_t end) {
    residual_norm_kernels::Backward<T> part = work;
    part.gate = gates.of(group);
    part.scale = scales.of(group);
    part.sums = task_sums + 3 * width * task;
    part.begin = begin;
    part.end = end;
    loop(part);
  });
  return sums;
}

}  // namespace

std::pair<at::Tensor, at::Tensor> ResidualNorm::forward() const {
  at::Tensor sum, norm;
  if (y.defined()) sum = at::empty_like(x);
  if (normed) norm = at::empty(x.sizes(), x.options().dtype(dtype));
  const residual_norm_kernels::Kernels& loops = kernel_table().residual_norm;
  if (dtype == at::kBFloat16) {
    run_forward<uint16_t>(*this, sum, norm, loops.forward_bf16);
  } else {
    run_forward<float>(*this, sum, norm, loops.forward);
  }
  return {sum, norm};
}

at::Tensor ResidualNorm::backward(const at::Tensor& grad_sum, const at::Tensor& grad_norm,
                                  const at::Tensor& grad_x, const at::Tensor& grad_y) const {
  const residual_norm_kernels::Kernels& loops = kernel_table().residual_norm;
  if (dtype == at::kBFloat16) {
    return run_backward<uint16_t>(*this, grad_sum, grad_norm, grad_x, grad_y, loops.backward_bf16);
  }
  return run_backward<float>(*this, grad_sum, grad_norm, grad_x, grad_y, loops.backward);
}

at::Tensor vector_gradient(const at::Tensor& sums, int64_t kind, const at::Tensor& like) {
  at::Tensor gradient = at::zeros(like.sizes(), sums.options());
  const int64_t width = sums.size(3), groups = gradient.numel() / width;
  const int64_t parts = sums.size(0) * sums.size(1) / groups;
  const float* from = sums.const_data_ptr<float>() + kind * width;
  auto* to = gradient.mutable_data_ptr<float>();
  for (int64_t part = 0; part < groups * parts; ++part, from += 3 * width) {
    float* total = to + part / parts * width;
    for (int64_t c = 0; c < width; ++c) total[c] += from[c];
  }
  return gradient;
}

}  // namespace loci::kernels
