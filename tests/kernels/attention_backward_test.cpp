// SPDX-License-Identifier: Apache-2.0
// Compares gradients of attention, and attention over spans, with libtorch's autograd in FP64.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "loci/kernels/attention/attention.h"
#include "loci/kernels/attention/attention_backward_pair_loops.h"
#include "loci/kernels/attention/attention_spans.h"
#include "loci/kernels/machine/cpu_features.h"
#include "loci/kernels/machine/kernel_table.h"

#include "tests/base/expect_error.h"
#include "tests/kernels/emulated_machines.h"
#include "tests/kernels/matrix.h"
#include "tests/kernels/random_rotation.h"

namespace loci::kernels {
namespace {

using ::loci::testing::largest_error;
using ::loci::testing::random_rotation;
using ::testing::HasSubstr;
using Tensors = std::vector<at::Tensor>;

Tensors leaves(const Tensors& inputs, at::ScalarType dtype) {
  Tensors copies;
  for (const at::Tensor& x : inputs) {
    copies.push_back(x.detach().to(dtype, /*non_blocking=*/false, /*copy=*/true));
    copies.back().set_requires_grad(true);
  }
  return copies;
}

// Different numbers of queries and keys, incomplete blocks and tiles, and several blocks of both.
TEST(AttentionBackward, MatchesFp64AtEveryLevel) {
  const struct {
    int64_t batch, heads, channels, queries, keys;
  } cases[] = {{1, 1, 32, 1, 3},      {2, 3, 64, 7, 5},     {1, 2, 128, 120, 120},
               {1, 1, 128, 129, 300}, {1, 2, 128, 300, 64}, {1, 1, 160, 13, 97}};
  for (const IsaLevel level : testing::levels_here()) {
    const IsaOverride chosen(level);
    for (const auto& c : cases) {
      for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
        at::manual_seed(c.queries);
        const auto random = [&](int64_t tokens) {
          return at::randn({c.batch, tokens, c.heads, c.channels}).to(dtype);
        };
        const Tensors inputs = {2 * random(c.queries), random(c.keys), random(c.keys)};
        const at::Tensor weights = random(c.queries);
        const Tensors ours = leaves(inputs, dtype), exact = leaves(inputs, at::kDouble);
        const Tensors got =
            torch::autograd::grad({attention(ours[0], ours[1], ours[2])}, ours, {weights});
        const Tensors expected =
            torch::autograd::grad({attention_by_libtorch(exact[0], exact[1], exact[2])}, exact,
                                  {weights.to(at::kDouble)});
        for (size_t i = 0; i < got.size(); ++i) {
          EXPECT_EQ(got[i].scalar_type(), dtype);
          // In BF16, the output that the gradient is computed from is rounded.
          EXPECT_LT(largest_error(got[i], expected[i]), dtype == at::kFloat ? 1e-5 : 2e-2)
              << name_of(level) << ", input " << i << ", " << c.queries << " x " << c.keys;
        }
      }
    }
  }
}

TEST(AttentionBackward, LargeScoresGiveFiniteGradients) {
  for (const IsaLevel level : testing::levels_here()) {
    const IsaOverride chosen(level);
    at::manual_seed(1);
    // All scores are far below zero: padding must not count as keys with score zero.
    const at::Tensor ones = at::ones({1, 3, 1, 32}), value = at::randn({1, 3, 1, 32});
    const Tensors inputs = leaves({100 * ones, -100 * ones, value}, at::kFloat);
    const Tensors got = torch::autograd::grad({attention(inputs[0], inputs[1], inputs[2])}, inputs,
                                              {at::randn({1, 3, 1, 32})});
    for (const at::Tensor& gradient : got) EXPECT_TRUE(at::isfinite(gradient).all().item<bool>());
    EXPECT_GT(got[2].abs().max().item<double>(), 0);
  }
}

std::vector<int64_t> range(int64_t begin, int64_t end) {
  std::vector<int64_t> numbers(static_cast<size_t>(end - begin));
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

// A training window: a first frame, a chunk that attends to it, a chunk that attends to rotated
// past keys in another order, and a token that attends to itself.
std::vector<AttentionSpan> window() {
  std::vector<AttentionSpan> spans = {
      {.begin = 0, .end = 7, .keys = range(0, 7), .rotation = {}},
      {.begin = 7, .end = 140, .keys = range(0, 140), .rotation = {}},
      {.begin = 140, .end = 150, .keys = range(100, 121), .rotation = random_rotation(21)},
      {.begin = 150, .end = 151, .keys = {150}, .rotation = {}}};
  for (const int64_t token : range(3, 6)) spans[2].keys.push_back(token);
  for (const int64_t token : range(140, 150)) spans[2].keys.push_back(token);
  return spans;
}

// Compares the loops of BF16 pairs on emulated instructions with the FP32 loops: odd numbers of
// queries and keys, incomplete tiles, several blocks of both, rotated keys.
TEST(AttentionBackward, EmulatedPairsMatchFp32) {
  namespace loops = attention_backward_kernels;
  at::manual_seed(3);
  const int64_t heads = 2, channels = 64;
  const std::vector<AttentionSpan> spans = window();
  const int64_t tokens = spans.back().end;
  const auto random = [&] {
    return at::randn({1, tokens, heads, channels}).to(at::kBFloat16).to(at::kFloat);
  };
  const at::Tensor query = random(), key = random(), value = random(), grad_out = random();
  std::vector<at::Tensor> tables;
  std::vector<loops::Span> parts;
  at::Tensor out = at::empty_like(query), log_sum = at::empty({1, heads, tokens});
  for (const AttentionSpan& span : spans) {
    loops::Span part{};
    part.begin = span.begin;
    part.end = span.end;
    part.keys = span.keys.data();
    part.key_count = std::ssize(span.keys);
    part.rotated = span.rotated_keys();
    at::Tensor k = key.index_select(1, at::tensor(span.keys));
    if (span.rotation) {
      k = at::cat({head_map_by_libtorch(k.narrow(1, 0, part.rotated), *span.rotation),
                   k.narrow(1, part.rotated, part.key_count - part.rotated)},
                  1);
      tables.insert(tables.end(),
                    {span.rotation->cosine, span.rotation->sine, -span.rotation->sine});
      part.cosine = tables[0].const_data_ptr<float>();
      part.sine = tables[1].const_data_ptr<float>();
      part.minus_sine = tables[2].const_data_ptr<float>();
      part.rotations = span.rotation->rotations.data();
      part.rotation_count = std::ssize(span.rotation->rotations);
      part.pairs = span.rotation->cosine.size(-1);
    }
    parts.push_back(part);
    const int64_t count = span.end - span.begin;
    const at::Tensor scores =
        at::einsum("bnhd,bmhd->bhnm", {query.narrow(1, span.begin, count), k}) /
        std::sqrt(static_cast<double>(channels));
    log_sum.narrow(2, span.begin, count).copy_(scores.logsumexp(3));
    out.narrow(1, span.begin, count)
        .copy_(at::einsum("bhnm,bmhd->bnhd",
                          {scores.softmax(3), value.index_select(1, at::tensor(span.keys))}));
  }
  const auto gradients = [&](void (*run)(const loops::Work&)) {
    Tensors results = {at::zeros_like(query), at::zeros_like(key), at::zeros_like(value)};
    // The loops must not depend on the previous contents of scratch memory.
    std::vector<float> scratch(static_cast<size_t>(std::max(loops::scratch_size(channels),
                                                            loops::pair_scratch_size(channels))),
                               std::numeric_limits<float>::quiet_NaN());
    loops::Work work{};
    work.query = query.const_data_ptr<float>();
    work.key = key.const_data_ptr<float>();
    work.value = value.const_data_ptr<float>();
    work.out = out.const_data_ptr<float>();
    work.grad_out = grad_out.const_data_ptr<float>();
    work.log_sum = log_sum.const_data_ptr<float>();
    work.grad_query = results[0].mutable_data_ptr<float>();
    work.grad_key = results[1].mutable_data_ptr<float>();
    work.grad_value = results[2].mutable_data_ptr<float>();
    work.query_tokens = work.key_tokens = tokens;
    work.heads = heads;
    work.channels = channels;
    work.scale = 1 / std::sqrt(static_cast<float>(channels));
    work.spans = parts.data();
    work.span_count = std::ssize(parts);
    work.scratch = scratch.data();
    for (work.head = 0; work.head < heads; ++work.head) run(work);
    return results;
  };
  const Tensors got = gradients(loops::PairBackward<emulated::VectorMachine>::run);
  const Tensors expected = gradients(kernel_table(IsaLevel::kPlain).attention_backward.fp32);
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_LT(largest_error(got[i], expected[i]), 1e-2) << "input " << i;
  }
}

TEST(AttentionSpans, OutputsAndGradientsMatchFp64) {
  for (const IsaLevel level : testing::levels_here()) {
    const IsaOverride chosen(level);
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
      at::manual_seed(2);
      const auto spans = std::make_shared<const std::vector<AttentionSpan>>(window());
      const auto random = [&] { return at::randn({2, 151, 2, 32}).to(dtype); };
      const Tensors inputs = {random(), random(), random()};
      const at::Tensor weights = random();
      const Tensors ours = leaves(inputs, dtype), exact = leaves(inputs, at::kDouble);
      const at::Tensor out = attention_over_spans(ours[0], ours[1], ours[2], spans);
      const at::Tensor wanted =
          attention_over_spans_by_libtorch(exact[0], exact[1], exact[2], *spans);
      const double tolerance = dtype == at::kFloat ? 1e-5 : 2e-2;
      EXPECT_LT(largest_error(out, wanted), tolerance) << name_of(level);
      const Tensors got = torch::autograd::grad({out}, ours, {weights});
      const Tensors expected = torch::autograd::grad({wanted}, exact, {weights.to(at::kDouble)});
      for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_LT(largest_error(got[i], expected[i]), tolerance)
            << name_of(level) << ", input " << i;
      }
      const at::NoGradGuard no_grad;
      EXPECT_TRUE(at::equal(attention_over_spans(ours[0], ours[1], ours[2], spans), out));
    }
  }
}

TEST(AttentionSpans, OtherTypesUseLibtorch) {
  at::manual_seed(3);
  const auto spans = std::make_shared<const std::vector<AttentionSpan>>(window());
  const at::Tensor x = at::randn({1, 151, 1, 32}, at::kDouble);
  EXPECT_TRUE(at::equal(attention_over_spans(x, x, x, spans),
                        attention_over_spans_by_libtorch(x, x, x, *spans)));
}

TEST(AttentionSpans, RejectsInconsistentSpans) {
  const at::Tensor x = at::zeros({1, 6, 1, 32});
  const auto run = [&](std::vector<AttentionSpan> spans) {
    return attention_over_spans(
        x, x, x, std::make_shared<const std::vector<AttentionSpan>>(std::move(spans)));
  };
  EXPECT_INTERNAL_ERROR(run({{.begin = 0, .end = 5, .keys = {0}, .rotation = {}}}),
                        HasSubstr("the spans cover 5 of 6 queries"));
  EXPECT_INTERNAL_ERROR(run({{.begin = 1, .end = 6, .keys = {0}, .rotation = {}}}),
                        HasSubstr("does not start at query 0"));
  EXPECT_INTERNAL_ERROR(run({{.begin = 0, .end = 6, .keys = {6}, .rotation = {}}}),
                        HasSubstr("key 6 does not exist"));
  EXPECT_INTERNAL_ERROR(run({{.begin = 0, .end = 6, .keys = {}, .rotation = {}}}),
                        HasSubstr("have no keys"));
  EXPECT_INTERNAL_ERROR(run({{.begin = 0, .end = 6, .keys = {0}, .rotation = random_rotation(2)}}),
                        HasSubstr("for its first n keys"));
}

}  // namespace
}  // namespace loci::kernels
