// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/attention/attention.h"

#include <limits>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/kernels/machine/cpu_features.h"

#include "tests/base/expect_error.h"
#include "tests/kernels/matrix.h"
#include "tests/kernels/random_rotation.h"

namespace loci::kernels {
namespace {

using ::loci::testing::largest_error;
using ::loci::testing::levels_here;
using ::loci::testing::random_rotation;
using ::testing::HasSubstr;

// Softmax attention in FP64 by its definition.
at::Tensor exact(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
  const auto wide = [](const at::Tensor& x) { return x.to(at::kDouble).transpose(1, 2); };
  const double scale = 1 / std::sqrt(static_cast<double>(query.size(3)));
  const at::Tensor scores = at::matmul(wide(query), wide(key).transpose(2, 3)) * scale;
  return at::matmul(at::softmax(scores, -1), wide(value)).transpose(1, 2);
}

// The type of the slots, and the tolerance of attention compared with FP64 on the same numbers.
struct Format {
  at::ScalarType used, kept;
  double tolerance;
};
constexpr Format kFormats[] = {{at::kFloat, at::kFloat, 5e-6},
                               {at::kFloat, at::kBFloat16, 5e-6},
                               {at::kFloat, at::kChar, 5e-6},
                               {at::kBFloat16, at::kBFloat16, 1e-2},
                               {at::kBFloat16, at::kChar, 1e-2}};

SlotTensor random_slots(int64_t slots, int64_t batch, int64_t tokens, int64_t heads,
                        int64_t channels, at::ScalarType kept) {
  const std::vector<int64_t> shape = {slots, batch, tokens, heads, channels};
  if (kept != at::kChar) return {at::randn(shape).to(kept), {}};
  return {at::randint(-127, 128, shape, at::kChar),
          at::rand({slots, batch, tokens, heads, 1}) * 0.02};
}

// Sizes that are multiples of blocks and panels, and sizes that are not; unordered slots.
TEST(Attention, MatchesFp64AtEveryLevel) {
  at::manual_seed(1);
  const struct {
    int64_t batch, heads, channels, queries, keys, slot_tokens;
    std::vector<int64_t> index;
  } cases[] = {{1, 1, 32, 1, 1, 1, {0}},         {2, 3, 64, 7, 5, 6, {3, 1}},
               {1, 2, 128, 120, 120, 24, {}},    {1, 2, 128, 120, 120, 24, {5, 0, 4, 2, 1, 3}},
               {2, 1, 128, 200, 33, 67, {2, 0}}, {1, 1, 160, 12, 0, 64, {1, 0}}};
  for (const IsaLevel level : levels_here()) {
    const IsaOverride chosen(level);
    for (const auto& c : cases) {
      for (const Format& f : kFormats) {
        const auto input = [&](int64_t tokens) {
          return at::randn({c.batch, tokens, c.heads, c.channels}).to(f.used);
        };
        const at::Tensor query = 2 * input(c.queries), key = input(c.keys), value = input(c.keys);
        const SlotTensor keys =
            random_slots(6, c.batch, c.slot_tokens, c.heads, c.channels, f.kept);
        const SlotTensor values =
            random_slots(6, c.batch, c.slot_tokens, c.heads, c.channels, f.kept);
        for (const bool rotated : {false, true}) {
          std::optional<HeadMap> rotation;
          if (rotated) rotation = random_rotation(c.slot_tokens * std::ssize(c.index));
          const AttentionPast past(keys, values, c.index, f.used, at::kCPU, rotation);
          const at::Tensor out = attention(query, key, value, &past);
          EXPECT_EQ(out.scalar_type(), f.used);
          at::Tensor all_keys = key, all_values = value;
          if (!past.empty()) {
            all_keys = at::cat({past.keys(), key}, 1);
            all_values = at::cat({past.values(), value}, 1);
          }
          EXPECT_LT(largest_error(out, exact(query, all_keys, all_values)), f.tolerance)
              << name_of(level) << ", " << c.queries << " queries, " << c.channels << " channels, "
              << c10::toString(f.used) << " of " << c10::toString(f.kept)
              << (rotated ? ", rotated" : "");
          EXPECT_LT(largest_error(attention_by_libtorch(query, key, value, &past),
                                  exact(query, all_keys, all_values)),
                    f.used == at::kFloat ? 1e-5 : 3e-2);
        }
      }
    }
  }
}

TEST(Attention, LargeScoresDoNotOverflowOrVanish) {
  for (const IsaLevel level : levels_here()) {
    const IsaOverride chosen(level);
    at::manual_seed(2);
    const at::Tensor query = 300 * at::randn({1, 9, 1, 32});
    const at::Tensor key = 300 * at::randn({1, 300, 1, 32}), value = at::randn({1, 300, 1, 32});
    EXPECT_LT(largest_error(attention(query, key, value), exact(query, key, value)), 1e-5);
    // The key with the largest score is in the last block; the others have no effect.
    at::Tensor rising = at::zeros({1, 300, 1, 32});
    rising.select(1, 299).fill_(100);
    const at::Tensor ones = at::ones({1, 1, 1, 32});
    EXPECT_TRUE(at::equal(attention(ones, rising, value), value.narrow(1, 299, 1)));
  }
}

TEST(Attention, NanPropagates) {
  for (const IsaLevel level : levels_here()) {
    const IsaOverride chosen(level);
    at::manual_seed(3);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const at::Tensor x = at::randn({1, 40, 1, 32});
    at::Tensor broken = x.clone();
    broken[0][17][0][3] = nan;
    EXPECT_TRUE(at::isnan(attention(broken, x, x)[0][17]).all().item<bool>());
    EXPECT_FALSE(at::isnan(attention(broken, x, x)[0][16]).any().item<bool>());
    EXPECT_TRUE(at::isnan(attention(x, broken, x)).all().item<bool>());
    EXPECT_TRUE(at::isnan(attention(x, x, broken).select(3, 3)).all().item<bool>());
  }
}

TEST(Attention, GradientsMatchFp64) {
  for (const IsaLevel level : levels_here()) {
    const IsaOverride chosen(level);
    at::manual_seed(4);
    std::vector<at::Tensor> inputs;
    for (const int64_t tokens : {50, 70, 70}) {
      inputs.push_back(at::randn({2, tokens, 3, 32}).requires_grad_(true));
    }
    const at::Tensor weights = at::randn({2, 50, 3, 32});
    (attention(inputs[0], inputs[1], inputs[2]) * weights).sum().backward();
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& input : inputs) {
      gradients.push_back(input.grad().clone());
      input.mutable_grad() = at::Tensor();
    }
    (exact(inputs[0], inputs[1], inputs[2]) * weights).sum().backward();
    for (size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_LT(largest_error(gradients[i], inputs[i].grad()), 1e-5) << "input " << i;
    }
  }
}

TEST(Attention, KeepsTheOrderOfSlots) {
  at::manual_seed(5);
  const SlotTensor keys = random_slots(4, 1, 8, 2, 32, at::kFloat);
  const SlotTensor values = random_slots(4, 1, 8, 2, 32, at::kFloat);
  const at::Tensor x = at::randn({1, 6, 2, 32});
  const AttentionPast past(keys, values, {2, 0}, at::kFloat, at::kCPU, {});
  const at::Tensor before = attention(x, x, x, &past);
  // Slots that the past does not use may change.
  keys.data.select(0, 1).fill_(7);
  values.data.select(0, 3).fill_(7);
  EXPECT_TRUE(at::equal(attention(x, x, x, &past), before));
  EXPECT_TRUE(at::equal(past.keys().narrow(1, 0, 8), keys.data.select(0, 2)));
}

TEST(Attention, RejectsInconsistentSizes) {
  const at::Tensor x = at::randn({1, 6, 2, 32});
  EXPECT_INTERNAL_ERROR(attention(x, x.narrow(2, 0, 1), x.narrow(2, 0, 1)),
                        HasSubstr("expected queries [B, N, H, D]"));
  const SlotTensor slots{at::zeros({2, 1, 4, 2, 32}), {}};
  EXPECT_INTERNAL_ERROR(AttentionPast(slots, slots, {2}, at::kFloat, at::kCPU, {}),
                        HasSubstr("slot 2 does not exist"));
  EXPECT_INTERNAL_ERROR(AttentionPast(slots, slots, {0}, at::kFloat, at::kCPU, random_rotation(5)),
                        HasSubstr("tables for 5 tokens, expected 4"));
}

}  // namespace
}  // namespace loci::kernels
