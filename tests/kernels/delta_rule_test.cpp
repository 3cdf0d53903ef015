// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/delta_rule.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/base/expect_error.h"
#include "tests/kernels/counting_allocator.h"
#include "tests/kernels/gradient_check.h"

namespace loci::kernels {
namespace {

using ::testing::HasSubstr;

struct Tokens {
  at::Tensor state, key, value, beta, log_decay;  // FP64
};

at::Tensor unit(const at::Tensor& x) { return x / x.norm(2, -1, /*keepdim=*/true); }

// Keys of one head lie within about 20 degrees of each other, as those of neighbouring tokens do;
// β reaches 2, where a write reflects what was stored.
Tokens correlated(int64_t groups, int64_t tokens, int64_t channels, uint64_t seed) {
  at::manual_seed(seed);
  Tokens t;
  t.state = at::randn({groups, channels, channels}, at::kDouble);
  const at::Tensor common = unit(at::randn({groups, 1, channels}, at::kDouble));
  const double spread = 0.35 / std::sqrt(static_cast<double>(channels));
  t.key = unit(common + spread * at::randn({groups, tokens, channels}, at::kDouble));
  t.value = at::randn({groups, tokens, channels}, at::kDouble);
  t.beta = (2.4 * at::rand({groups, tokens}, at::kDouble)).clamp_max(2);
  t.log_decay = at::log(0.2 + 0.8 * at::rand({groups, tokens, channels}, at::kDouble));
  return t;
}

// The definition, one token after the other.
at::Tensor token_loop(const Tokens& t, bool decays) {
  at::Tensor state = t.state.clone();
  for (int64_t i = 0; i < t.key.size(1); ++i) {
    if (decays) state = state * t.log_decay.select(1, i).exp().unsqueeze(-1);
    const at::Tensor k = t.key.select(1, i).unsqueeze(-1);  // [G, K, 1]
    const at::Tensor error = t.value.select(1, i).unsqueeze(1) - at::bmm(k.transpose(1, 2), state);
    state = state + t.beta.select(1, i).view({-1, 1, 1}) * at::bmm(k, error);
  }
  return state;
}

double relative_error(const at::Tensor& got, const at::Tensor& expected) {
  return ((got.to(at::kDouble) - expected).abs().max() / expected.std()).item<double>();
}

TEST(DeltaRule, EqualsTheTokenLoop) {
  // Below, at and above the block's size, and many blocks.
  for (const int64_t tokens : {1, 77, 128, 129, 500}) {
    const Tokens t = correlated(3, tokens, 32, 10 + tokens);
    const at::Tensor expected = token_loop(t, /*decays=*/false);
    EXPECT_LT(relative_error(delta_write(t.state, t.key, t.value, t.beta), expected), 1e-11)
        << tokens;
    const at::Tensor narrow = delta_write(t.state.to(at::kFloat), t.key.to(at::kFloat),
                                          t.value.to(at::kFloat), t.beta.to(at::kFloat));
    EXPECT_EQ(narrow.scalar_type(), at::kFloat);
    EXPECT_LT(relative_error(narrow, expected), 2e-4) << tokens;
  }
}

TEST(DeltaRule, EqualsTheTokenLoopOverAWholeChunk) {
  const Tokens t = correlated(4, 1920, 128, 3);
  const at::Tensor expected = token_loop(t, /*decays=*/false);
  EXPECT_LT(relative_error(delta_write(t.state, t.key, t.value, t.beta), expected), 1e-10);
  const at::Tensor narrow = delta_write(t.state.to(at::kFloat), t.key.to(at::kFloat),
                                        t.value.to(at::kFloat), t.beta.to(at::kFloat));
  EXPECT_LT(relative_error(narrow, expected), 2e-4);
}

TEST(DeltaRule, DecayAtEveryTokenEqualsTheLoop) {
  for (const int64_t tokens : {1, 16, 17, 300}) {
    Tokens t = correlated(2, tokens, 32, 20 + tokens);
    t.log_decay.select(1, 0).fill_(kMinLogDecay);  // the strongest that is allowed
    const at::Tensor expected = token_loop(t, /*decays=*/true);
    EXPECT_LT(
        relative_error(decayed_delta_write(t.state, t.key, t.value, t.beta, t.log_decay), expected),
        1e-10)
        << tokens;
    // A whole block at the bound: exponents reach e^±40, inside FP32's range.
    t.log_decay.fill_(kMinLogDecay);
    const at::Tensor strongest = token_loop(t, /*decays=*/true);
    const at::Tensor narrow =
        decayed_delta_write(t.state.to(at::kFloat), t.key.to(at::kFloat), t.value.to(at::kFloat),
                            t.beta.to(at::kFloat), t.log_decay.to(at::kFloat));
    EXPECT_LT(relative_error(narrow, strongest), 1e-4) << tokens;
  }
}

TEST(DeltaRule, NoTokensLeaveTheState) {
  const Tokens t = correlated(2, 0, 8, 1);
  EXPECT_TRUE(at::equal(delta_write(t.state, t.key, t.value, t.beta), t.state));
  EXPECT_TRUE(
      at::equal(decayed_delta_write(t.state, t.key, t.value, t.beta, t.log_decay), t.state));
}

TEST(DeltaRule, AWholeModelsChunkTakesBoundedMemory) {
  // 24 heads of 1,920 tokens: the triangular matrix of the whole chunk would be 354 MB.
  testing::CountingAllocator counter;
  {
    const at::Tensor key = unit(at::randn({24, 1920, 128}));
    const at::Tensor value = at::randn({24, 1920, 128});
    const at::Tensor beta = at::rand({24, 1920}) * 2;
    const at::Tensor state = at::zeros({24, 128, 128});
    const int64_t before = counter.live();
    counter.reset_peak();
    const at::Tensor written = delta_write(state, key, value, beta);
    EXPECT_TRUE(at::isfinite(written).all().item<bool>());
    EXPECT_LT(counter.peak() - before, int64_t{16} << 20);
  }
}

TEST(DeltaRule, GradientsEqualCentralDifferences) {
  // Different sizes of keys and values; more tokens than a block of the decayed form.
  const Tokens t = correlated(2, 19, 5, 4);
  const at::Tensor state = testing::leaf(t.state.narrow(2, 0, 3));
  const at::Tensor value = testing::leaf(t.value.narrow(2, 0, 3));
  const at::Tensor key = testing::leaf(t.key);
  const at::Tensor beta = testing::leaf(t.beta);
  const at::Tensor decay = testing::leaf(t.log_decay);
  EXPECT_LT(testing::gradient_error(
                [&] { return testing::weighted_sum(delta_write(state, key, value, beta)); },
                {state, key, value, beta}, 3),
            1e-6);
  EXPECT_LT(testing::gradient_error(
                [&] {
                  return testing::weighted_sum(decayed_delta_write(state, key, value, beta, decay));
                },
                {state, key, value, beta, decay}, 3),
            1e-6);
}

TEST(DeltaRule, GradientAcrossBlocksEqualsTheLoops) {
  Tokens t = correlated(2, 200, 16, 5);
  std::vector<at::Tensor> inputs = {t.state, t.key, t.value, t.beta};
  for (at::Tensor& input : inputs) input.set_requires_grad(true);
  const auto loop =
      torch::autograd::grad({testing::weighted_sum(token_loop(t, /*decays=*/false))}, inputs);
  const auto blocked = torch::autograd::grad(
      {testing::weighted_sum(delta_write(t.state, t.key, t.value, t.beta))}, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_LT(relative_error(blocked[i], loop[i]), 1e-10) << i;
  }
}

TEST(DeltaRule, SizesThatDisagreeAreRefused) {
  const Tokens t = correlated(2, 4, 8, 6);
  EXPECT_INTERNAL_ERROR(delta_write(t.state, t.key, t.value.narrow(1, 0, 3), t.beta),
                        HasSubstr("disagree"));
  EXPECT_INTERNAL_ERROR(delta_write(t.state.select(0, 0), t.key, t.value, t.beta),
                        HasSubstr("expected state [G, K, V]"));
  EXPECT_INTERNAL_ERROR(
      decayed_delta_write(t.state, t.key, t.value, t.beta, t.log_decay.narrow(1, 0, 2)),
      HasSubstr("log_decay"));
}

}  // namespace
}  // namespace loci::kernels
