// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/attention/attention_spans.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include "loci/base/error.h"
#include "loci/kernels/attention/attention_backward.h"
#include "loci/kernels/attention/attention_dispatch.h"

namespace loci::kernels {

using attention_kernels::KeySet;
using attention_kernels::kQueryBlock;
using attention_kernels::Work;

namespace {

void check(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
           const std::vector<AttentionSpan>& spans) {
  LOCI_CHECK(
      query.dim() == 4 && key.dim() == 4 && key.sizes() == value.sizes() &&
          query.size(0) == key.size(0) && query.size(2) == key.size(2) &&
          query.size(3) == key.size(3),
      "expected queries [B, N, H, D], and keys and values [B, M, H, D] with the same B, H and D");
  int64_t next = 0;
  for (const AttentionSpan& span : spans) {
    LOCI_CHECK(span.begin == next && span.end >= span.begin,
               "span [{}, {}) does not start at query {}, where the previous one ends", span.begin,
               span.end, next);
    next = span.end;
    LOCI_CHECK(!span.keys.empty(), "queries [{}, {}) have no keys", span.begin, span.end);
    for (const int64_t token : span.keys) {
      LOCI_CHECK(token >= 0 && token < key.size(1), "key {} does not exist: there are {} keys",
                 token, key.size(1));
    }
    if (!span.rotation) continue;
    LOCI_CHECK(
        span.rotation->tiles == 0 && span.rotation->cosine.dim() == 2 &&
            span.rotation->sine.sizes() == span.rotation->cosine.sizes() &&
            span.rotated_keys() <= std::ssize(span.keys),
        "the rotation of a span needs tables [n, pairs] for its first n keys, and no matrices");
  }
  LOCI_CHECK(next == query.size(1), "the spans cover {} of {} queries", next, query.size(1));
}

// The keys of a span for one sample: a packed set of the rotated keys, then a set of the others,
// which are read in place.
struct SpanKeys {
  at::Tensor panels;
  std::vector<KeySet> sets;
};

SpanKeys span_keys(const AttentionSpan& span, const at::Tensor& key, const at::Tensor& value,
                   attention_kernels::PanelLayout layout) {
  // Every token is a slot: [M, 1, 1, H, D].
  const auto slots = [](const at::Tensor& x) {
    return SlotTensor{x.unsqueeze(1).unsqueeze(1), {}};
  };
  SpanKeys keys;
  const int64_t rotated = span.rotated_keys(), rest = std::ssize(span.keys) - rotated;
  KeySet set{.key = slot_rows(slots(key)),
             .value = slot_rows(slots(value)),
             .index = span.keys.data(),
             .slot_tokens = 1,
             .tokens = rotated,
             .panels = nullptr,
             .panel_type = number_type(key.scalar_type())};
  if (rotated > 0) {
    const std::vector<int64_t> first(span.keys.begin(), span.keys.begin() + rotated);
    keys.panels = pack_keys(slots(key), first, key.scalar_type(), layout, &*span.rotation);
    set.panels = keys.panels.const_data_ptr();
    keys.sets.push_back(set);
    set.panels = nullptr;
  }
  if (rest > 0) {
    set.index += rotated;
    set.tokens = rest;
    keys.sets.push_back(set);
  }
  return keys;
}

struct Attended {
  at::Tensor out;      // [B, N, H, D]
  at::Tensor log_sum;  // [B, H, N] FP32; undefined unless requested
};

// All tensors are contiguous and kernel_applies().
Attended run(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
             const std::vector<AttentionSpan>& spans, bool want_log_sum) {
  const attention_kernels::Attend kernel = attend_kernel(query.scalar_type());
  const int64_t heads = query.size(2);
  Attended result;
  result.out = at::empty_like(query);
  if (want_log_sum) {
    result.log_sum = at::empty({query.size(0), heads, query.size(1)}, at::kFloat);
  }
  // One task per sample, span and block of queries, for all heads.
  std::vector<SpanKeys> keys;
  std::vector<Work> tasks;
  keys.reserve(static_cast<size_t>(query.size(0)) * spans.size());
  for (int64_t sample = 0; sample < query.size(0); ++sample) {
    const at::Tensor q = query[sample], o = result.out[sample];
    for (const AttentionSpan& span : spans) {
      keys.push_back(span_keys(span, key[sample], value[sample], kernel.layout));
      Work work{};
      work.query = q.const_data_ptr();
      work.out = o.mutable_data_ptr();
      work.type = number_type(query.scalar_type());
      if (want_log_sum) work.log_sum = result.log_sum[sample].mutable_data_ptr<float>();
      work.query_tokens = query.size(1);
      work.heads = heads;
      work.channels = query.size(3);
      work.batch = 1;
      work.sets = keys.back().sets.data();
      work.set_count = std::ssize(keys.back().sets);
      work.scale = 1 / std::sqrt(static_cast<float>(work.channels));
      for (work.begin = span.begin; work.begin < span.end; work.begin += kQueryBlock) {
        work.end = std::min(work.begin + kQueryBlock, span.end);
        tasks.push_back(work);
      }
    }
  }
  at::parallel_for(0, std::ssize(tasks) * heads, 1, [&](int64_t first, int64_t last) {
    const auto scratch =
        std::make_unique_for_overwrite<float[]>(attention_kernels::scratch_size(query.size(3)));
    for (int64_t i = first; i < last; ++i) {
      Work part = tasks[i / heads];
      part.head = i % heads;
      part.scratch = scratch.get();
      kernel.attend(part);
    }
  });
  return result;
}

struct HeldSpans : torch::CustomClassHolder {
  SharedSpans spans;
};

class AttendSpans : public torch::autograd::Function<AttendSpans> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& query,
                            const at::Tensor& key, const at::Tensor& value,
                            const c10::intrusive_ptr<HeldSpans>& held) {
    const Attended result = run(query, key, value, *held->spans, /*want_log_sum=*/true);
    context->save_for_backward({query, key, value, result.out, result.log_sum});
    context->saved_data["spans"] = c10::IValue::make_capsule(held);
    return result.out;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto held = context->saved_data["spans"].toCapsule();
    const AttentionGradients all =
        attention_backward(gradients[0], saved[0], saved[1], saved[2], saved[3], saved[4],
                           *static_cast<const HeldSpans&>(*held).spans);
    return {all.query, all.key, all.value, at::Tensor()};
  }
};

// The tokens `index` of x [B, M, H, D]. Consecutive tokens are not copied.
at::Tensor take(const at::Tensor& x, const std::vector<int64_t>& index) {
  for (size_t i = 1; i < index.size(); ++i) {
    if (index[i] != index[i - 1] + 1) {
      return x.index_select(1, at::tensor(index, at::TensorOptions(x.device()).dtype(at::kLong)));
    }
  }
  return x.narrow(1, index.front(), std::ssize(index));
}

}  // namespace

at::Tensor attention_over_spans_by_libtorch(const at::Tensor& query, const at::Tensor& key,
                                            const at::Tensor& value,
                                            const std::vector<AttentionSpan>& spans) {
  check(query, key, value, spans);
  std::vector<at::Tensor> parts;
  for (const AttentionSpan& span : spans) {
    at::Tensor k = take(key, span.keys);
    const int64_t rotated = span.rotated_keys();
    if (rotated > 0) {
      k = at::cat({head_map_by_libtorch(k.narrow(1, 0, rotated), *span.rotation),
                   k.narrow(1, rotated, k.size(1) - rotated)},
                  1);
    }
    parts.push_back(attention_by_libtorch(query.narrow(1, span.begin, span.end - span.begin), k,
                                          take(value, span.keys)));
  }
  return parts.size() == 1 ? parts.front() : at::cat(parts, 1);
}

at::Tensor attention_over_spans(const at::Tensor& query, const at::Tensor& key,
                                const at::Tensor& value, const SharedSpans& spans) {
  check(query, key, value, *spans);
  if (!kernel_applies(key.device(), query.device(), query.scalar_type(), query.size(3)) ||
      key.scalar_type() != query.scalar_type() || value.scalar_type() != query.scalar_type()) {
    return attention_over_spans_by_libtorch(query, key, value, *spans);
  }
  const at::Tensor q = query.contiguous(), k = key.contiguous(), v = value.contiguous();
  const bool differentiate =
      at::GradMode::is_enabled() && (q.requires_grad() || k.requires_grad() || v.requires_grad());
  if (!differentiate) return run(q, k, v, *spans, /*want_log_sum=*/false).out;
  auto held = c10::make_intrusive<HeldSpans>();
  held->spans = spans;
  return AttendSpans::apply(q, k, v, held);
}

}  // namespace loci::kernels
