// SPDX-License-Identifier: Apache-2.0
#include "loci/kernels/delta_rule/delta_rule.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/kernels/machine/cpu_features.h"

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

// The keys of a head are within about 20 degrees of each other, like those of neighbouring tokens.
// β goes up to 2, where a write reflects the stored value.
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

// The definition: a loop over tokens.
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

TEST(DeltaRule, MatchesTheLoopOverTokens) {
  // Below, at and above the block size, and many blocks.
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

TEST(DeltaRule, MatchesTheLoopOverTokensForAWholeChunk) {
  const Tokens t = correlated(4, 1920, 128, 3);
  const at::Tensor expected = token_loop(t, /*decays=*/false);
  EXPECT_LT(relative_error(delta_write(t.state, t.key, t.value, t.beta), expected), 1e-10);
  const at::Tensor narrow = delta_write(t.state.to(at::kFloat), t.key.to(at::kFloat),
                                        t.value.to(at::kFloat), t.beta.to(at::kFloat));
  EXPECT_LT(relative_error(narrow, expected), 2e-4);
}

TEST(DeltaRule, DecayAtEveryTokenMatchesTheLoop) {
  for (const int64_t tokens : {1, 16, 17, 300}) {
    Tokens t = correlated(2, tokens, 32, 20 + tokens);
    t.log_decay.select(1, 0).fill_(kMinLogDecay);  // the strongest that is allowed
    const at::Tensor expected = token_loop(t, /*decays=*/true);
    EXPECT_LT(
        relative_error(decayed_delta_write(t.state, t.key, t.value, t.beta, t.log_decay), expected),
        1e-10)
        << tokens;
    // A whole block at the bound: exponentials reach e^±40, within the range of FP32.
    t.log_decay.fill_(kMinLogDecay);
    const at::Tensor strongest = token_loop(t, /*decays=*/true);
    const at::Tensor narrow =
        decayed_delta_write(t.state.to(at::kFloat), t.key.to(at::kFloat), t.value.to(at::kFloat),
                            t.beta.to(at::kFloat), t.log_decay.to(at::kFloat));
    EXPECT_LT(relative_error(narrow, strongest), 1e-4) << tokens;
  }
}

TEST(DeltaRule, WithoutTokensTheStateIsUnchanged) {
  const Tokens t = correlated(2, 0, 8, 1);
  EXPECT_TRUE(at::equal(delta_write(t.state, t.key, t.value, t.beta), t.state));
  EXPECT_TRUE(
      at::equal(decayed_delta_write(t.state, t.key, t.value, t.beta, t.log_decay), t.state));
}

TEST(DeltaRule, AChunkOfTheLargeModelNeedsBoundedMemory) {
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

TEST(DeltaRule, GradientsMatchCentralDifferences) {
  // Keys and values of different sizes; more tokens than a block of the decayed form.
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

TEST(DeltaRule, GradientAcrossBlocksMatchesTheLoop) {
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

// Inputs of delta_chunks() in order: state, query, key, value, beta, retention.
std::vector<at::Tensor> chunk_inputs(int64_t batch, int64_t heads, int64_t tokens, int64_t keys,
                                     int64_t values, int64_t written) {
  at::manual_seed(tokens);
  const auto random = [](at::IntArrayRef shape) { return at::randn(shape, at::kDouble); };
  const at::Tensor common = random({batch, 1, heads, keys});
  return {random({batch, heads, keys, values}),
          unit(random({batch, tokens, heads, keys})),
          unit(common + random({batch, tokens, heads, keys})),
          random({batch, tokens, heads, values}),
          2 * at::sigmoid(random({batch, tokens, heads})),
          0.5 + 0.5 * at::sigmoid(random({batch, written, heads, keys}))};
}

using Chunked = DeltaPass (*)(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                              const at::Tensor&, const at::Tensor&, const at::Tensor&,
                              const DeltaChunks&, double);

// Readouts, state, and the gradients of all defined inputs.
std::vector<at::Tensor> outputs_and_gradients(Chunked chunked, std::vector<at::Tensor> inputs,
                                              at::ScalarType dtype, const DeltaChunks& chunks) {
  std::vector<at::Tensor> leaves;
  for (at::Tensor& x : inputs) {
    if (!x.defined()) continue;
    x = x.detach().to(dtype, /*non_blocking=*/false, /*copy=*/true).set_requires_grad(true);
    leaves.push_back(x);
  }
  const DeltaPass pass =
      chunked(inputs[0], inputs[1], inputs[2], inputs[3], inputs[4], inputs[5], chunks, 0.3);
  std::vector<at::Tensor> all = {pass.state};
  if (pass.read.defined()) all.push_back(pass.read);
  at::manual_seed(1);
  std::vector<at::Tensor> weights;
  for (const at::Tensor& x : all) weights.push_back(at::randn(x.sizes()).to(dtype));
  const std::vector<at::Tensor> gradients = torch::autograd::grad(all, leaves, weights);
  all.insert(all.end(), gradients.begin(), gradients.end());
  return all;
}

TEST(DeltaRule, MatchesFp64AtEveryLevel) {
  const struct {
    int64_t batch, heads, keys, values;
    DeltaChunks chunks;
    bool reads, fades;
  } cases[] = {{1, 1, 32, 32, {.ends = {1}}, false, false},
               {2, 3, 64, 32, {.ends = {7}}, true, false},
               {1, 2, 128, 128, {.ends = {24, 144}}, true, true},
               {1, 2, 128, 128, {.ends = {24, 144, 264}, .write_last = false}, true, true},
               {1, 1, 32, 96, {.ends = {129}}, false, true},
               {2, 1, 128, 128, {.ends = {300}}, false, false}};
  for (const IsaLevel level : kIsaLevels) {
    if (level > cpu_features().best_level()) continue;
    const IsaOverride chosen(level);
    for (const auto& c : cases) {
      const int64_t written = std::ssize(c.chunks.ends) - (c.chunks.write_last ? 0 : 1);
      std::vector<at::Tensor> inputs =
          chunk_inputs(c.batch, c.heads, c.chunks.ends.back(), c.keys, c.values, written);
      for (at::Tensor& x : inputs) x = x.to(at::kFloat);  // both compute with the same numbers
      if (!c.reads) inputs[1] = at::Tensor();
      if (!c.fades) inputs[5] = at::Tensor();
      const auto got = outputs_and_gradients(delta_chunks, inputs, at::kFloat, c.chunks);
      const auto expected =
          outputs_and_gradients(delta_chunks_by_libtorch, inputs, at::kDouble, c.chunks);
      ASSERT_EQ(got.size(), expected.size());
      for (size_t i = 0; i < got.size(); ++i) {
        const at::Tensor off = (got[i].to(at::kDouble) - expected[i]).abs().max();
        EXPECT_LT((off / expected[i].abs().max()).item<double>(), 1e-4)
            << name_of(level) << ", " << c.chunks.ends.back() << " tokens, result " << i;
      }
    }
  }
}

TEST(DeltaRule, ChunksMatchSeparateWrites) {
  const std::vector<at::Tensor> in = chunk_inputs(1, 2, 50, 32, 32, 2);
  const DeltaPass pass =
      delta_chunks(in[0], in[1], in[2], in[3], in[4], in[5], {.ends = {20, 50}}, 0.5);
  const auto folded = [](const at::Tensor& x) { return x.transpose(1, 2).flatten(0, 1); };
  at::Tensor state = in[0].flatten(0, 1);
  int64_t begin = 0;
  for (const int64_t end : {20, 50}) {
    const auto part = [&](const at::Tensor& x) { return folded(x).slice(1, begin, end); };
    EXPECT_LT(relative_error(part(pass.read), 0.5 * at::bmm(part(in[1]), state)), 1e-12);
    state = state * in[5].select(1, begin == 0 ? 0 : 1).flatten(0, 1).unsqueeze(-1);
    state = delta_write(state, part(in[2]), part(in[3]), part(in[4]));
    begin = end;
  }
  EXPECT_LT(relative_error(pass.state.flatten(0, 1), state), 1e-12);
}

TEST(DeltaRule, AcceptsGradientsOfOnlyReadoutsOrState) {
  const std::vector<at::Tensor> in = chunk_inputs(1, 1, 30, 32, 32, 1);
  const DeltaChunks chunks{.ends = {10, 30}, .write_last = false};
  for (const bool of_read : {false, true}) {
    std::vector<at::Tensor> found[2];
    for (const bool by_libtorch : {false, true}) {
      std::vector<at::Tensor> leaves;
      for (const at::Tensor& x : in) leaves.push_back(x.to(at::kFloat).set_requires_grad(true));
      const DeltaPass pass = (by_libtorch ? delta_chunks_by_libtorch : delta_chunks)(
          leaves[0], leaves[1], leaves[2], leaves[3], leaves[4], leaves[5], chunks, 1);
      found[by_libtorch ? 1 : 0] = torch::autograd::grad(
          {testing::weighted_sum(of_read ? pass.read : pass.state)}, leaves, {}, false, false,
          /*allow_unused=*/true);
    }
    for (size_t i = 0; i < in.size(); ++i) {
      const at::Tensor& wanted = found[1][i];
      if (wanted.defined()) {
        EXPECT_TRUE(at::allclose(found[0][i], wanted, 1e-4, 1e-4)) << i;
      } else {
        EXPECT_EQ(found[0][i].abs().max().item<double>(), 0) << i;
      }
    }
  }
}

TEST(DeltaRule, RejectsInconsistentSizes) {
  const Tokens t = correlated(2, 4, 8, 6);
  EXPECT_INTERNAL_ERROR(delta_write(t.state, t.key, t.value.narrow(1, 0, 3), t.beta),
                        HasSubstr("inconsistent sizes"));
  EXPECT_INTERNAL_ERROR(delta_write(t.state.select(0, 0), t.key, t.value, t.beta),
                        HasSubstr("expected state [G, K, V]"));
  EXPECT_INTERNAL_ERROR(
      decayed_delta_write(t.state, t.key, t.value, t.beta, t.log_decay.narrow(1, 0, 2)),
      HasSubstr("log_decay"));
  const std::vector<at::Tensor> in = chunk_inputs(1, 1, 30, 32, 32, 1);
  EXPECT_INTERNAL_ERROR(
      delta_chunks(in[0], in[1], in[2], in[3], in[4], in[5], {.ends = {10, 29}}, 1),
      HasSubstr("the chunks cover 29 of 30 tokens"));
  EXPECT_INTERNAL_ERROR(
      delta_chunks(in[0], in[1], in[2], in[3], in[4], in[5], {.ends = {10, 30}}, 1),
      HasSubstr("retention must be [B, 2 chunks"));
}

}  // namespace
}  // namespace loci::kernels
