// SPDX-License-Identifier: Apache-2.0
// Attention with products of BF16 pairs. The loops for AVX512-BF16 and AMX run on emulated
// instructions on every host, and on the real ones if the host has them.
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/kernels/attention/attention.h"
#include "loci/kernels/attention/attention_dispatch.h"
#include "loci/kernels/attention/attention_pair_loops.h"
#include "loci/kernels/machine/cpu_features.h"
#include "loci/kernels/machine/kernel_table.h"

#include "tests/base/expect_error.h"
#include "tests/kernels/emulated_machines.h"

namespace loci::kernels {
namespace {

using attention_kernels::PairLoops;
using attention_kernels::PanelLayout;
using attention_kernels::TileProducts;
using attention_kernels::VectorProducts;
using emulated::TileMachine;
using emulated::VectorMachine;
using ::testing::HasSubstr;

// A version of the BF16 attention loop that can run on this host.
struct Kind {
  const char* name;
  std::optional<IsaLevel> level;                     // real instructions
  void (*emulated)(const attention_kernels::Work&);  // or emulated ones
};
// attention() uses `kind` while this object lives.
class Chosen {
 public:
  explicit Chosen(const Kind& kind) {
    if (kind.level) level_.emplace(*kind.level);
    if (kind.emulated == nullptr) return;
    KernelTable table = kernel_table();
    table.attention.bf16 = {kind.emulated, PanelLayout::kPairs};
    table_.emplace(table);
  }

 private:
  std::optional<IsaOverride> level_;
  std::optional<KernelTableOverride> table_;
};

std::vector<Kind> kinds_here() {
  std::vector<Kind> kinds = {
      {"emulated vectors", std::nullopt,
       PairLoops<VectorMachine, VectorProducts<VectorMachine>>::attend},
      {"emulated tiles", std::nullopt, PairLoops<TileMachine, TileProducts<TileMachine>>::attend}};
  for (const IsaLevel level : {IsaLevel::kAvx512Bf16, IsaLevel::kAmx}) {
    if (level <= cpu_features().best_level()) {
      kinds.push_back({name_of(level).data(), level, nullptr});
    }
  }
  return kinds;
}

at::Tensor wide(const at::Tensor& x) { return x.to(at::kDouble).transpose(1, 2); }

at::Tensor scores_of(const at::Tensor& query, const at::Tensor& key) {
  const double scale = 1 / std::sqrt(static_cast<double>(query.size(3)));
  return at::matmul(wide(query), wide(key).transpose(2, 3)) * scale;
}

struct Exact {
  at::Tensor out;    // [B, N, H, D] in FP64
  at::Tensor bound;  // of each number's error
};

// Softmax attention of BF16 numbers in FP64, and a bound for the error of the loops. BF16 has 8
// bits, so rounding changes a number by at most a fraction u = 2^-8 of it (2^-9 just below a power
// of two).
//   A weight w becomes w (1 + d) with |d| <= u + e, where e = 1e-4 covers the polynomial of the
//   exponential (7.5e-5) and the FP32 sum of the score. The outputs are averages with the rounded
//   weights, so output o changes by at most (u + e) sum_k w_k |v_k - o| / (1 - u - e). Rounding the
//   output adds u |o|.
Exact exact(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
  constexpr double kRounding = 1.0 / 256, kOther = 1e-4;
  const at::Tensor weights = at::softmax(scores_of(query, key), -1);  // [B, H, N, M]
  const at::Tensor values = wide(value), out = at::matmul(weights, values);
  const at::Tensor distance = (values.unsqueeze(2) - out.unsqueeze(3)).abs();  // [B, H, N, M, D]
  const at::Tensor spread = (weights.unsqueeze(-1) * distance).sum(3);
  const at::Tensor bound = spread * ((kRounding + kOther) / (1 - kRounding - kOther)) +
                           (out.abs() + 0.01 * spread) * kRounding;
  return {out.transpose(1, 2), bound.transpose(1, 2)};
}

// The largest error relative to its bound; at most 1.
double excess(const at::Tensor& got, const Exact& expected) {
  return ((got.to(at::kDouble) - expected.out).abs() / expected.bound).max().item<double>();
}

SlotTensor random_slots(const std::vector<int64_t>& shape, at::ScalarType kept) {
  if (kept != at::kChar) return {at::randn(shape).to(kept), {}};
  std::vector<int64_t> scales = shape;
  scales.back() = 1;
  return {at::randint(-127, 128, shape, at::kChar), at::rand(scales) * 0.02};
}

// Multiples of 90 degrees, so that rotated BF16 numbers are exact in BF16.
HeadMap random_rotation(int64_t tokens) {
  HeadMap rotation;
  rotation.rotations = {{.begin = 2, .pairs = 5, .adjacent = true},
                        {.begin = 16, .pairs = 4, .adjacent = false}};
  const at::Tensor quarters = at::randint(0, 4, {tokens, 9});
  rotation.cosine = ((quarters == 0).to(at::kFloat) - (quarters == 2).to(at::kFloat));
  rotation.sine = ((quarters == 1).to(at::kFloat) - (quarters == 3).to(at::kFloat));
  return rotation;
}

// Sizes that are multiples of blocks, panels and tiles, and sizes that are not; unordered slots.
TEST(AttentionBf16, ErrorsAreWithinTheRoundingBound) {
  const struct {
    int64_t batch, heads, channels, queries, keys, slot_tokens;
    std::vector<int64_t> index;
  } cases[] = {{1, 1, 32, 1, 1, 1, {0}},        {2, 3, 64, 7, 5, 6, {3, 1}},
               {1, 2, 128, 40, 120, 24, {}},    {1, 2, 128, 12, 33, 24, {5, 0, 4, 2, 1, 3}},
               {2, 1, 128, 33, 33, 67, {2, 0}}, {1, 1, 160, 13, 0, 64, {1, 0}},
               {1, 1, 32, 200, 256, 3, {1, 4}}};
  for (const Kind& kind : kinds_here()) {
    at::manual_seed(1);
    const Chosen chosen(kind);
    for (const auto& c : cases) {
      for (const at::ScalarType kept : {at::kBFloat16, at::kFloat, at::kChar}) {
        const auto input = [&](int64_t tokens) {
          return at::randn({c.batch, tokens, c.heads, c.channels}).to(at::kBFloat16);
        };
        const at::Tensor query = 2 * input(c.queries), key = input(c.keys), value = input(c.keys);
        const std::vector<int64_t> shape = {6, c.batch, c.slot_tokens, c.heads, c.channels};
        const SlotTensor keys = random_slots(shape, kept), values = random_slots(shape, kept);
        for (const bool rotated : {false, true}) {
          std::optional<HeadMap> rotation;
          if (rotated) rotation = random_rotation(c.slot_tokens * std::ssize(c.index));
          const AttentionPast past(keys, values, c.index, at::kBFloat16, at::kCPU, rotation);
          const at::Tensor out = attention(query, key, value, &past);
          ASSERT_EQ(out.scalar_type(), at::kBFloat16);
          at::Tensor all_keys = key, all_values = value;
          if (!past.empty()) {
            all_keys = at::cat({past.keys(), key}, 1);
            all_values = at::cat({past.values(), value}, 1);
          }
          EXPECT_LE(excess(out, exact(query, all_keys, all_values)), 1)
              << kind.name << ", " << c.queries << " queries, " << c.channels << " channels, "
              << c10::toString(kept) << (rotated ? ", rotated" : "");
        }
      }
    }
  }
}

// The logarithm of the sum that the backward pass reads. Its error is at most the rounding error of
// a weight.
TEST(AttentionBf16, LogSumsMatchRoundedWeights) {
  for (const Kind& kind : kinds_here()) {
    at::manual_seed(2);
    const Chosen chosen(kind);
    const at::Tensor query = 2 * at::randn({2, 37, 3, 64}).to(at::kBFloat16);
    const at::Tensor key = at::randn({2, 150, 3, 64}).to(at::kBFloat16);
    const at::Tensor panels =
        pack_keys({key.unsqueeze(0), {}}, {0}, at::kBFloat16, PanelLayout::kPairs, nullptr);
    const int64_t first = 0;
    const attention_kernels::SlotRows rows = slot_rows({key.unsqueeze(0), {}});
    const attention_kernels::KeySet set{.key = rows,
                                        .value = rows,
                                        .index = &first,
                                        .slot_tokens = 150,
                                        .tokens = 150,
                                        .panels = panels.const_data_ptr(),
                                        .panel_type = attention_kernels::Number::kBfloat16};
    at::Tensor out = at::empty_like(query), log_sum = at::empty({2, 3, 37}, at::kFloat);
    std::vector<float> scratch(static_cast<size_t>(attention_kernels::scratch_size(64)));
    attention_kernels::Work work{};
    work.query = query.const_data_ptr();
    work.out = out.mutable_data_ptr();
    work.type = attention_kernels::Number::kBfloat16;
    work.log_sum = log_sum.mutable_data_ptr<float>();
    work.query_tokens = work.end = 37;
    work.heads = 3;
    work.channels = 64;
    work.batch = 2;
    work.sets = &set;
    work.set_count = 1;
    work.scale = 1.0F / 8;
    work.scratch = scratch.data();
    for (work.sample = 0; work.sample < 2; ++work.sample) {
      for (work.head = 0; work.head < 3; ++work.head) attend_kernel(at::kBFloat16).attend(work);
    }
    const at::Tensor expected = at::logsumexp(scores_of(query, key), -1);
    EXPECT_LT((log_sum - expected).abs().max().item<double>(), 1.0 / 256 + 1e-4) << kind.name;
    EXPECT_LE(excess(out, exact(query, key, key)), 1) << kind.name;
  }
}

TEST(AttentionBf16, LargeScoresDoNotOverflowOrVanish) {
  for (const Kind& kind : kinds_here()) {
    const Chosen chosen(kind);
    at::manual_seed(3);
    const at::Tensor value = at::randn({1, 300, 1, 32}).to(at::kBFloat16);
    // The key with the largest score is in the last block; the others have no effect.
    at::Tensor rising = at::zeros({1, 300, 1, 32}, at::kBFloat16);
    rising.select(1, 299).fill_(100);
    const at::Tensor ones = at::ones({1, 1, 1, 32}, at::kBFloat16);
    EXPECT_TRUE(at::equal(attention(ones, rising, value), value.narrow(1, 299, 1))) << kind.name;
    // If all values are equal, the output equals them for any weights.
    const at::Tensor query = 300 * at::randn({1, 9, 1, 32}).to(at::kBFloat16);
    const at::Tensor key = at::randn({1, 300, 1, 32}).to(at::kBFloat16);
    const at::Tensor same = at::full({1, 300, 1, 32}, 0.7, at::kBFloat16);
    EXPECT_TRUE(at::equal(attention(query, key, same), same.narrow(1, 0, 9))) << kind.name;
    EXPECT_TRUE(at::equal(attention(query, key, value), attention(query, key, value)));
  }
}

TEST(AttentionBf16, NanPropagates) {
  for (const Kind& kind : kinds_here()) {
    const Chosen chosen(kind);
    at::manual_seed(4);
    const at::Tensor x = at::randn({1, 40, 1, 32}).to(at::kBFloat16);
    at::Tensor broken = x.clone();
    broken[0][17][0][3] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(at::isnan(attention(broken, x, x)[0][17]).all().item<bool>());
    EXPECT_FALSE(at::isnan(attention(broken, x, x)[0][16]).any().item<bool>());
    EXPECT_TRUE(at::isnan(attention(x, broken, x)).all().item<bool>());
    EXPECT_TRUE(at::isnan(attention(x, x, broken).select(3, 3)).all().item<bool>());
  }
}

// The backward pass uses rounded outputs and log sums of the forward pass. Its gradients are within
// a few rounding errors of FP64.
TEST(AttentionBf16, GradientsMatchFp64) {
  for (const Kind& kind : kinds_here()) {
    const Chosen chosen(kind);
    at::manual_seed(6);
    std::vector<at::Tensor> inputs, exact_inputs;
    for (const int64_t tokens : {21, 45, 45}) {
      inputs.push_back(at::randn({1, tokens, 2, 32}).to(at::kBFloat16).requires_grad_(true));
      exact_inputs.push_back(inputs.back().detach().to(at::kDouble).requires_grad_(true));
    }
    const at::Tensor weights = at::randn({1, 21, 2, 32}).to(at::kBFloat16);
    (attention(inputs[0], inputs[1], inputs[2]) * weights).sum().backward();
    (attention_by_libtorch(exact_inputs[0], exact_inputs[1], exact_inputs[2]) * weights)
        .sum()
        .backward();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const at::Tensor expected = exact_inputs[i].grad();
      const at::Tensor error = (inputs[i].grad().to(at::kDouble) - expected).abs().max();
      EXPECT_LT((error / expected.abs().max()).item<double>(), 4.0 / 256)
          << kind.name << ", input " << i;
    }
  }
}

// Keys that were packed for one version of the loops are packed again for another.
TEST(AttentionBf16, PacksKeysAgainForAnotherLayout) {
  at::manual_seed(5);
  const SlotTensor keys = random_slots({3, 1, 20, 2, 64}, at::kBFloat16);
  const SlotTensor values = random_slots({3, 1, 20, 2, 64}, at::kBFloat16);
  const at::Tensor x = at::randn({1, 9, 2, 64}).to(at::kBFloat16);
  const HeadMap rotation = random_rotation(40);
  const IsaOverride plain(IsaLevel::kPlain);
  const AttentionPast columns(keys, values, {2, 0}, at::kBFloat16, at::kCPU, rotation);
  const AttentionPast floats(keys, values, {2, 0}, at::kFloat, at::kCPU, rotation);
  const Exact expected =
      exact(x, at::cat({columns.keys(), x}, 1), at::cat({columns.values(), x}, 1));
  EXPECT_LE(excess(attention(x, x, x, &columns), expected), 1);
  const Kind kind = kinds_here()[0];
  std::optional<Chosen> chosen(kind);
  const AttentionPast pairs(keys, values, {2, 0}, at::kBFloat16, at::kCPU, rotation);
  for (const AttentionPast* past : {&columns, &pairs, &floats}) {
    EXPECT_LE(excess(attention(x, x, x, past), expected), 1);
  }
  chosen.reset();
  EXPECT_LE(excess(attention(x, x, x, &pairs), expected), 1);
  EXPECT_INTERNAL_ERROR(pack_keys(keys, {0}, at::kFloat, PanelLayout::kPairs, nullptr),
                        HasSubstr("must be BF16, not Float"));
}

// [channels / 2][kPanel][2], padded with zeros.
TEST(AttentionBf16, PanelsHoldPairsOfChannels) {
  const IsaLevel levels[] = {IsaLevel::kPlain, cpu_features().best_level()};
  for (const IsaLevel level : levels) {
    const IsaOverride chosen(level);
    const at::Tensor key = at::randn({1, 1, 37, 1, 64}).to(at::kBFloat16);
    const at::Tensor panels =
        pack_keys({key, {}}, {0}, at::kBFloat16, PanelLayout::kPairs, nullptr);
    const at::Tensor padded = at::zeros({64, 64}, at::kBFloat16);
    padded.narrow(0, 0, 37).copy_(key.view({37, 64}));
    const at::Tensor expected =
        padded.view({2, 32, 32, 2}).transpose(1, 2).reshape({1, 1, 2, 32, 32, 2});
    EXPECT_TRUE(at::equal(panels, expected));
  }
}

float number(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Corner cases of the emulated instructions.
TEST(EmulatedMachine, RoundsAndFlushesAsDocumented) {
  EXPECT_EQ(emulated::narrowed(number(0x3F808000)), 0x3F80);  // a tie, to even
  EXPECT_EQ(emulated::narrowed(number(0x3F818000)), 0x3F82);
  EXPECT_EQ(emulated::narrowed(number(0x3F808001)), 0x3F81);
  EXPECT_EQ(emulated::narrowed(number(0x807FFFFF)), 0x8000);  // denormal
  EXPECT_EQ(emulated::narrowed(number(0x7F800001)), 0x7FC0);  // NaN stays NaN
  EXPECT_EQ(emulated::narrowed(number(0xFF800000)), 0xFF80);
  EXPECT_EQ(emulated::widened(0x0001), 0.0F);
  VectorMachine::Floats sum{};
  VectorMachine::Pairs a{}, b{};
  // 2^24 + 1 - 2^24 depends on the order of the products of a pair. The odd one comes first.
  sum[0] = 16777216.0F;
  a[0] = static_cast<short>(emulated::narrowed(1));
  b[0] = static_cast<short>(emulated::narrowed(1));
  a[1] = static_cast<short>(emulated::narrowed(-16777216.0F));
  b[1] = static_cast<short>(emulated::narrowed(1));
  EXPECT_EQ(VectorMachine::dot(sum, a, b)[0], 1.0F);
  EXPECT_THROW(TileMachine::zero<0>(), std::logic_error);
}

}  // namespace
}  // namespace loci::kernels
