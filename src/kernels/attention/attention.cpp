// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "loci/base/error.h"
#include "loci/kernels/attention/attention_backward.h"
#include "loci/kernels/attention/attention_dispatch.h"
#include "loci/kernels/machine/kernel_table.h"

namespace loci::kernels {

using attention_kernels::KeySet;
using attention_kernels::kPanel;
using attention_kernels::kQueryBlock;
using attention_kernels::Number;
using attention_kernels::PackWork;
using attention_kernels::PanelLayout;
using attention_kernels::Work;

namespace {

// The number of channels of a head must be a multiple of the widest kernel tile.
constexpr int64_t kChannelStep = 32;

struct Result {
  at::Tensor out;      // [B, N, H, D]
  at::Tensor log_sum;  // [B, H, N] FP32
};

// All tensors are contiguous and kernel_applies().
Result run(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
           const AttentionPast* past, bool want_log_sum) {
  const attention_kernels::Attend kernel = attend_kernel(query.scalar_type());
  const std::vector<int64_t> only = {0};
  const SlotTensor key_slot{key.unsqueeze(0), {}}, value_slot{value.unsqueeze(0), {}};
  const at::Tensor panels = pack_keys(key_slot, only, key.scalar_type(), kernel.layout, nullptr);
  std::vector<KeySet> sets;
  at::Tensor past_panels;
  if (past != nullptr && !past->empty()) {
    sets.push_back(PastReader::key_set(*past, query, kernel.layout, past_panels));
  }
  if (key.size(1) > 0) {
    sets.push_back({.key = slot_rows(key_slot),
                    .value = slot_rows(value_slot),
                    .index = only.data(),
                    .slot_tokens = key.size(1),
                    .tokens = key.size(1),
                    .panels = panels.const_data_ptr(),
                    .panel_type = number_type(panels.scalar_type())});
  }
  Result result;
  result.out = at::empty_like(query);
  if (want_log_sum) {
    result.log_sum = at::empty({query.size(0), query.size(2), query.size(1)}, at::kFloat);
  }
  Work work{};
  work.query = query.const_data_ptr();
  work.out = result.out.mutable_data_ptr();
  work.type = number_type(query.scalar_type());
  work.log_sum = want_log_sum ? result.log_sum.mutable_data_ptr<float>() : nullptr;
  work.batch = query.size(0);
  work.query_tokens = query.size(1);
  work.heads = query.size(2);
  work.channels = query.size(3);
  work.sets = sets.data();
  work.set_count = std::ssize(sets);
  work.scale = 1 / std::sqrt(static_cast<float>(work.channels));
  const int64_t blocks = (work.query_tokens + kQueryBlock - 1) / kQueryBlock;
  at::parallel_for(0, work.batch * work.heads * blocks, 1, [&](int64_t first, int64_t last) {
    Work part = work;
    const auto scratch =
        std::make_unique_for_overwrite<float[]>(attention_kernels::scratch_size(work.channels));
    part.scratch = scratch.get();
    for (int64_t task = first; task < last; ++task) {
      part.sample = task / blocks / work.heads;
      part.head = task / blocks % work.heads;
      part.begin = task % blocks * kQueryBlock;
      part.end = std::min(part.begin + kQueryBlock, work.query_tokens);
      kernel.attend(part);
    }
  });
  return result;
}

// [B, N, H, D] → [B, H, N, D] and back.
at::Tensor heads_first(const at::Tensor& x) { return x.transpose(1, 2); }

class Attend : public torch::autograd::Function<Attend> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& query,
                            const at::Tensor& key, const at::Tensor& value) {
    const Result result = run(query, key, value, nullptr, /*want_log_sum=*/true);
    context->save_for_backward({query, key, value, result.out, result.log_sum});
    return result.out;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    AttentionSpan all{.begin = 0, .end = saved[0].size(1)};
    all.keys.resize(static_cast<size_t>(saved[1].size(1)));
    std::iota(all.keys.begin(), all.keys.end(), int64_t{0});
    AttentionGradients found = attention_backward(gradients[0], saved[0], saved[1], saved[2],
                                                  saved[3], saved[4], {std::move(all)});
    return {found.query, found.key, found.value};
  }
};

}  // namespace

attention_kernels::Attend attend_kernel(at::ScalarType dtype) {
  const attention_kernels::Kernels& kernels = kernel_table().attention;
  return dtype == at::kBFloat16 ? kernels.bf16 : kernels.fp32;
}

bool kernel_applies(at::Device stored, at::Device device, at::ScalarType dtype, int64_t channels) {
  return stored.is_cpu() && device.is_cpu() && (dtype == at::kFloat || dtype == at::kBFloat16) &&
         channels % kChannelStep == 0;
}

Number number_type(at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
      return Number::kFloat;
    case at::kBFloat16:
      return Number::kBfloat16;
    case at::kChar:
      return Number::kInt8;
    default:
      fail_check("no attention kernel for keys and values of type {}", c10::toString(dtype));
  }
}

attention_kernels::SlotRows slot_rows(const SlotTensor& slots) {
  LOCI_CHECK(slots.data.is_contiguous(), "slots must be contiguous");
  return {.data = slots.data.const_data_ptr(),
          .scale = slots.scale.defined() ? slots.scale.const_data_ptr<float>() : nullptr,
          .type = number_type(slots.data.scalar_type())};
}

at::Tensor pack_keys(const SlotTensor& key, const std::vector<int64_t>& index, at::ScalarType dtype,
                     PanelLayout layout, const HeadMap* rotation) {
  LOCI_CHECK(layout == PanelLayout::kColumns || dtype == at::kBFloat16,
             "panels of pairs must be BF16, not {}", c10::toString(dtype));
  PackWork work{};
  work.rows = slot_rows(key);
  work.index = index.data();
  work.batch = key.data.size(1);
  work.slot_tokens = key.data.size(2);
  work.heads = key.data.size(3);
  work.channels = key.data.size(4);
  work.tokens = work.slot_tokens * std::ssize(index);
  work.to_type = number_type(dtype);
  work.layout = layout;
  at::Tensor cosine, sine;
  if (rotation != nullptr && !rotation->rotations.empty()) {
    cosine = rotation->cosine.to(at::kFloat).contiguous();
    sine = rotation->sine.to(at::kFloat).contiguous();
    LOCI_CHECK(cosine.dim() == 2 && cosine.size(0) == work.tokens,
               "the rotation has tables for {} tokens, expected {}", cosine.size(0), work.tokens);
    work.rotations = rotation->rotations.data();
    work.rotation_count = std::ssize(rotation->rotations);
    work.pairs = cosine.size(1);
    work.cosine = cosine.const_data_ptr<float>();
    work.sine = sine.const_data_ptr<float>();
  }
  const int64_t panels = (work.tokens + kPanel - 1) / kPanel;
  std::vector<int64_t> shape = {work.batch, work.heads, panels, work.channels, kPanel};
  if (layout == PanelLayout::kPairs) {
    shape[3] /= 2;
    shape.push_back(2);
  }
  const at::Tensor packed = at::empty(shape, dtype);
  auto* to = static_cast<std::byte*>(packed.mutable_data_ptr());
  const auto head_bytes = static_cast<int64_t>(packed.nbytes()) / (work.batch * work.heads);
  const auto pack = kernel_table().attention.pack;
  at::parallel_for(0, work.batch * work.heads, 1, [&](int64_t first, int64_t last) {
    PackWork part = work;
    for (int64_t task = first; task < last; ++task) {
      part.sample = task / work.heads;
      part.head = task % work.heads;
      part.to = to + task * head_bytes;
      pack(part);
    }
  });
  return packed;
}

PanelLayout layout_of(const at::Tensor& panels) {
  return panels.dim() == 6 ? PanelLayout::kPairs : PanelLayout::kColumns;
}

KeySet PastReader::key_set(const AttentionPast& past, const at::Tensor& query, PanelLayout layout,
                           at::Tensor& again) {
  const at::IntArrayRef slots = past.key_.data.sizes();  // [slots, B, T, H, D]
  LOCI_CHECK(slots[1] == query.size(0) && slots[3] == query.size(2) && slots[4] == query.size(3),
             "the past has {} samples, {} heads and {} channels; the queries have {}, {} and {}",
             slots[1], slots[3], slots[4], query.size(0), query.size(2), query.size(3));
  at::Tensor panels = past.panels_;
  if (panels.defined() && layout_of(panels) != layout) {
    again = past.packed(layout, query.scalar_type());
    panels = again;
  }
  return {.key = slot_rows(past.key_),
          .value = slot_rows(past.value_),
          .index = past.index_.data(),
          .slot_tokens = past.slot_tokens_,
          .tokens = past.tokens(),
          .panels = panels.defined() ? panels.const_data_ptr() : nullptr,
          .panel_type = number_type(panels.defined() ? panels.scalar_type() : past.dtype_)};
}

at::Tensor attention_by_libtorch(const at::Tensor& query, const at::Tensor& key,
                                 const at::Tensor& value, const AttentionPast* past) {
  const bool more = past != nullptr && !past->empty();
  const at::Tensor k = more ? at::cat({past->keys(), key}, 1) : key;
  const at::Tensor v = more ? at::cat({past->values(), value}, 1) : value;
  return heads_first(
      at::scaled_dot_product_attention(heads_first(query), heads_first(k), heads_first(v)));
}

at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionPast* past) {
  LOCI_CHECK(
      query.dim() == 4 && key.dim() == 4 && key.sizes() == value.sizes() &&
          query.size(0) == key.size(0) && query.size(2) == key.size(2) &&
          query.size(3) == key.size(3),
      "expected queries [B, N, H, D], and keys and values [B, M, H, D] with the same B, H and D");
  const bool applies =
      kernel_applies(key.device(), query.device(), query.scalar_type(), query.size(3)) &&
      key.scalar_type() == query.scalar_type() && value.scalar_type() == query.scalar_type();
  const bool differentiate =
      at::GradMode::is_enabled() &&
      (query.requires_grad() || key.requires_grad() || value.requires_grad());
  if (!applies || (differentiate && past != nullptr && !past->empty())) {
    return attention_by_libtorch(query, key, value, past);
  }
  const at::Tensor q = query.contiguous(), k = key.contiguous(), v = value.contiguous();
  return differentiate ? Attend::apply(q, k, v) : run(q, k, v, past, false).out;
}

}  // namespace loci::kernels
