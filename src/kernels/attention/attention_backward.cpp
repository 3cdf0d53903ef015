// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/attention/attention_backward.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "loci/kernels/machine/kernel_table.h"

namespace loci::kernels {

AttentionGradients attention_backward(const at::Tensor& grad_out, const at::Tensor& query,
                                      const at::Tensor& key, const at::Tensor& value,
                                      const at::Tensor& out, const at::Tensor& log_sum,
                                      const std::vector<AttentionSpan>& spans) {
  const auto wide = [](const at::Tensor& x) { return x.to(at::kFloat).contiguous(); };
  const at::Tensor q = wide(query), k = wide(key), v = wide(value), o = wide(out),
                   g = wide(grad_out);
  AttentionGradients gradients{at::empty_like(q), at::zeros_like(k), at::zeros_like(v)};
  std::vector<at::Tensor> tables;  // owns the tables while the loops run
  std::vector<attention_backward_kernels::Span> parts;
  for (const AttentionSpan& span : spans) {
    attention_backward_kernels::Span part{};
    part.begin = span.begin;
    part.end = span.end;
    part.keys = span.keys.data();
    part.key_count = std::ssize(span.keys);
    part.rotated = span.rotated_keys();
    if (span.rotation) {
      tables.push_back(wide(span.rotation->cosine));
      part.cosine = tables.back().const_data_ptr<float>();
      tables.push_back(wide(span.rotation->sine));
      part.sine = tables.back().const_data_ptr<float>();
      tables.push_back(-tables.back());
      part.minus_sine = tables.back().const_data_ptr<float>();
      part.rotations = span.rotation->rotations.data();
      part.rotation_count = std::ssize(span.rotation->rotations);
      part.pairs = span.rotation->cosine.size(-1);
    }
    parts.push_back(part);
  }
  attention_backward_kernels::Work work{};
  work.query = q.const_data_ptr<float>();
  work.key = k.const_data_ptr<float>();
  work.value = v.const_data_ptr<float>();
  work.out = o.const_data_ptr<float>();
  work.grad_out = g.const_data_ptr<float>();
  work.log_sum = log_sum.const_data_ptr<float>();
  work.grad_query = gradients.query.mutable_data_ptr<float>();
  work.grad_key = gradients.key.mutable_data_ptr<float>();
  work.grad_value = gradients.value.mutable_data_ptr<float>();
  work.query_tokens = q.size(1);
  work.key_tokens = k.size(1);
  work.heads = q.size(2);
  work.channels = q.size(3);
  work.scale = 1 / std::sqrt(static_cast<float>(work.channels));
  work.spans = parts.data();
  work.span_count = std::ssize(parts);
  const attention_backward_kernels::Kernels& kernels = kernel_table().attention_backward;
  const auto backward = query.scalar_type() == at::kBFloat16 ? kernels.bf16 : kernels.fp32;
  at::parallel_for(0, q.size(0) * work.heads, 1, [&](int64_t first, int64_t last) {
    const auto scratch = std::make_unique_for_overwrite<float[]>(
        std::max(attention_backward_kernels::scratch_size(work.channels),
                 attention_backward_kernels::pair_scratch_size(work.channels)));
    attention_backward_kernels::Work part = work;
    part.scratch = scratch.get();
    for (int64_t task = first; task < last; ++task) {
      part.sample = task / work.heads;
      part.head = task % work.heads;
      backward(part);
    }
  });
  gradients.query = gradients.query.to(query.scalar_type());
  gradients.key = gradients.key.to(key.scalar_type());
  gradients.value = gradients.value.to(value.scalar_type());
  return gradients;
}

}  // namespace loci::kernels
