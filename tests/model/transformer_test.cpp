// SPDX-License-Identifier: Apache-2.0
#include "loci/model/transformer/transformer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/memory/recurrent/recurrent_registry.h"

#include "tests/base/expect_error.h"
#include "tests/kernels/gradient_check.h"
#include "tests/model/tiny_model.h"

namespace loci::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TinyWindow;

at::Tensor forward(const Transformer& transformer, const TinyWindow& w, const at::Tensor& latents,
                   ForwardContext& context) {
  context.visible.maps = &w.maps;
  if (context.visible.chunks.empty()) context.visible.chunks = w.chunks;
  return transformer.forward(latents, w.timesteps, context);
}

// Gradients of every parameter and of the latents, including the text keys, over three chunks.
void expect_exact_gradients(const TransformerConfig& config) {
  const Transformer transformer = testing::random_transformer(config, at::kDouble);
  transformer.parameters().set_requires_grad(true);
  TinyWindow w = testing::tiny_window(config, 2, /*batch=*/1, at::kDouble);
  const at::Tensor latents = testing::leaf(w.latents);
  std::vector<at::Tensor> inputs = {latents};
  for (const Parameter& parameter : transformer.parameters().all())
    inputs.push_back(parameter.tensor);
  const auto loss = [&] {
    const TextKeys text = transformer.text_keys(w.text);
    ForwardContext context;
    context.visible.text = &text;
    const at::Tensor velocity = forward(transformer, w, latents, context);
    return testing::weighted_sum(velocity) + testing::weighted_sum(context.memory.states[1]);
  };
  EXPECT_LT(testing::gradient_error(loss, inputs, 1), 1e-5);
}

TEST(Transformer, GradientsEqualCentralDifferences) {
  expect_exact_gradients(testing::tiny_config());
}

TEST(Transformer, GradientsOfRayMemoryEqualCentralDifferences) {
  TransformerConfig config = testing::tiny_config();
  config.recurrent_memory = "ray_kda";
  config.kda_start_beta = 0.1;
  config.recurrent_heads_per_head = 2;
  config.ray_encoding.values = true;
  expect_exact_gradients(config);
}

TEST(Transformer, BetaStartsAtItsSetting) {
  const at::NoGradGuard no_grad;
  for (const double beta : {0.1, 1.0}) {
    TransformerConfig config = testing::tiny_config();
    config.kda_start_beta = beta;
    const Transformer transformer = testing::random_transformer(config);
    for (const Parameter& parameter : transformer.parameters().all()) {
      if (parameter.name.ends_with("b_proj.weight")) parameter.tensor.zero_();
    }
    const TinyWindow w = testing::tiny_window(config, 1);
    const TextKeys text = transformer.text_keys(w.text);
    ForwardContext context;
    context.visible.text = &text;
    context.observers.on_recurrent = [&](int64_t, const RecurrentInputs& inputs) {
      EXPECT_TRUE(at::allclose(inputs.beta, at::full_like(inputs.beta, beta), 1e-6, 1e-6));
    };
    forward(transformer, w, w.latents, context);
  }
}

// Recurrent heads of one attention head add their readouts: two equal halves equal one whole.
TEST(Transformer, RecurrentHeadsOfOneHeadAreAdded) {
  const at::NoGradGuard no_grad;
  TransformerConfig config = testing::tiny_config();
  const Transformer one = testing::random_transformer(config);
  config.recurrent_heads_per_head = 2;
  auto parameters = std::make_shared<Parameters>(
      Parameters::Options{}, [&](const std::string& name) {
        for (const Parameter& parameter : one.parameters().all()) {
          if (parameter.name != name) continue;
          if (name.find(".kda.") == std::string::npos) return parameter.tensor;
          const at::Tensor twice = at::cat({parameter.tensor, parameter.tensor});
          return name.ends_with("phi_v.weight") ? twice / 2 : twice;
        }
        return at::Tensor();
      });
  const Transformer two(config, parameters);
  const TinyWindow w = testing::tiny_window(config, 3);
  std::vector<at::Tensor> states;
  const at::Tensor velocity = testing::window_velocity(two, w, &states);
  EXPECT_LT(testing::relative_error(velocity, testing::window_velocity(one, w)), 1e-5);
  EXPECT_EQ(states[1].sizes(), at::IntArrayRef({1, 2, 128, 128}));
}

// With zero network output, the velocity is the regression of the velocity on the noisy latents.
TEST(Transformer, LinearGuessIsTheRegression) {
  const at::NoGradGuard no_grad;
  TransformerConfig config = testing::tiny_config();
  config.linear_guess.assign(static_cast<size_t>(config.channels), 1.0);
  config.linear_guess[1] = 2.5;
  const Transformer transformer = testing::random_transformer(config);
  const TinyWindow w = testing::tiny_window(config, 1);
  const at::Tensor said = testing::window_velocity(transformer, w);
  for (const Parameter& parameter : transformer.parameters().all()) {
    if (parameter.name.starts_with("proj_out.")) parameter.tensor.zero_();
  }
  const at::Tensor silent = testing::window_velocity(transformer, w);
  EXPECT_FALSE(said.equal(silent));
  at::manual_seed(4);
  const double s = w.timesteps[0][1].item<double>() / 1000;
  const at::Tensor noise = at::randn({200000}, at::kDouble);
  for (const int64_t channel : {0, 1}) {
    const at::Tensor clean =
        config.linear_guess[static_cast<size_t>(channel)] * at::randn({200000}, at::kDouble);
    const at::Tensor x = (1 - s) * clean + s * noise, v = noise - clean;
    const double slope = (x * v).mean().item<double>() / x.square().mean().item<double>();
    EXPECT_TRUE(at::allclose(silent[0][channel][1], slope * w.latents[0][channel][1], 0.03, 0.01))
        << channel;
    // The residual that the network predicts has deviation 1.
    const at::Tensor rest =
        (said - silent)[0][channel][1] / (v - slope * x).square().mean().sqrt().item<double>();
    TransformerConfig plain = config;
    plain.linear_guess.clear();
    const Transformer same = testing::random_transformer(plain);
    EXPECT_TRUE(at::allclose(rest, testing::window_velocity(same, w)[0][channel][1].to(at::kFloat),
                             0.03, 0.01))
        << channel;
  }
}

TEST(Transformer, EveryParameterGetsAGradient) {
  for (const std::string memory :
       {"chunk_kda", "chunk_kda_no_camera", "ray_kda", "token_kda", "frame_deltanet", "ssm"}) {
    TransformerConfig config = testing::tiny_config();
    config.recurrent_memory = memory;
    const Transformer transformer = testing::random_transformer(config);
    transformer.parameters().set_requires_grad(true);
    const TinyWindow w = testing::tiny_window(config, 2);
    testing::weighted_sum(testing::window_velocity(transformer, w)).backward();
    for (const Parameter& parameter : transformer.parameters().all()) {
      ASSERT_TRUE(parameter.tensor.grad().defined()) << memory << " " << parameter.name;
      EXPECT_GT(parameter.tensor.grad().abs().max().item<double>(), 0)
          << memory << " " << parameter.name;
    }
  }
}

TEST(Transformer, CheckpointingKeepsValuesAndGradients) {
  const TransformerConfig config = testing::tiny_config();
  const Transformer transformer = testing::random_transformer(config, at::kDouble);
  transformer.parameters().set_requires_grad(true);
  const TinyWindow w = testing::tiny_window(config, 2, /*batch=*/2, at::kDouble);
  struct Result {
    at::Tensor velocity, state, latents;
    std::vector<at::Tensor> gradients;
  };
  const auto run = [&](bool checkpoint) {
    for (const Parameter& parameter : transformer.parameters().all()) {
      parameter.tensor.mutable_grad() = at::Tensor();
    }
    const at::Tensor latents = testing::leaf(w.latents);
    const TextKeys text = transformer.text_keys(w.text);
    ForwardContext context;
    context.visible.text = &text;
    context.checkpoint_blocks = checkpoint;
    const at::Tensor velocity = forward(transformer, w, latents, context);
    testing::weighted_sum(velocity).backward();
    Result result{velocity.detach(), context.memory.states[1].detach(), latents.grad(), {}};
    for (const Parameter& parameter : transformer.parameters().all()) {
      result.gradients.push_back(parameter.tensor.grad().clone());
    }
    return result;
  };
  const Result kept = run(false);
  const Result again = run(true);
  EXPECT_TRUE(at::equal(again.velocity, kept.velocity));
  EXPECT_TRUE(at::equal(again.state, kept.state));
  EXPECT_LT(testing::relative_error(again.latents, kept.latents), 1e-10);
  for (size_t i = 0; i < kept.gradients.size(); ++i) {
    EXPECT_TRUE(at::allclose(again.gradients[i], kept.gradients[i], 1e-10, 1e-12))
        << transformer.parameters().all()[i].name;
  }
}

// The backward pass recomputes checkpointed blocks without calling observers.
TEST(Transformer, CheckpointingCallsObserversOnce) {
  const TransformerConfig config = testing::tiny_config();
  const Transformer transformer = testing::random_transformer(config);
  transformer.parameters().set_requires_grad(true);
  const TinyWindow w = testing::tiny_window(config, 2);
  const TextKeys text = transformer.text_keys(w.text);
  ForwardContext context;
  context.visible.text = &text;
  context.checkpoint_blocks = true;
  std::vector<std::string> calls;
  std::vector<at::Tensor> outputs;
  ContentProbe probe{.layer = 0, .key = {}, .query = {}};
  context.observers.probe = &probe;
  context.observers.block_outputs = &outputs;
  context.observers.on_attention = [&](int64_t layer, const at::Tensor&, const at::Tensor&,
                                       const kernels::AttentionPast*) {
    calls.push_back(fmt::format("attention {}", layer));
  };
  context.observers.on_recurrent = [&](int64_t layer, const RecurrentInputs&) {
    calls.push_back(fmt::format("recurrent {}", layer));
  };
  context.observers.on_retention = [&](int64_t layer, const at::Tensor&) {
    calls.push_back(fmt::format("retention {}", layer));
  };
  const at::Tensor velocity = forward(transformer, w, w.latents, context);
  EXPECT_THAT(calls, ElementsAre("attention 0", "recurrent 1", "retention 1"));
  ASSERT_TRUE(probe.key.defined());
  probe.key = at::Tensor();
  testing::weighted_sum(velocity).backward();
  EXPECT_EQ(calls.size(), 3u);
  EXPECT_EQ(outputs.size(), 2u);
  EXPECT_FALSE(probe.key.defined());
}

TEST(Transformer, EarlierChunksDoNotDependOnLaterOnes) {
  const at::NoGradGuard no_grad;
  TransformerConfig config = testing::tiny_config();
  config.layers = 3;
  for (const std::string memory :
       {"chunk_kda", "ray_kda", "token_kda", "frame_deltanet", "linear", "ssm", "none"}) {
    config.recurrent_memory = memory;
    const Transformer transformer = testing::random_transformer(config);
    TinyWindow w = testing::tiny_window(config, 4);
    const at::Tensor before = testing::window_velocity(transformer, w);
    const ChunkSpan& changed = w.chunks[3];
    w.latents = w.latents.clone();
    w.latents.narrow(2, changed.begin, changed.end - changed.begin).normal_();
    w.timesteps = w.timesteps.clone();
    w.timesteps.narrow(1, changed.begin, changed.end - changed.begin).fill_(17);
    const at::Tensor after = testing::window_velocity(transformer, w);
    EXPECT_TRUE(at::equal(after.narrow(2, 0, changed.begin), before.narrow(2, 0, changed.begin)))
        << memory;
    // The chunk itself and the one after it do change.
    for (const ChunkSpan& chunk : {w.chunks[3], w.chunks[4]}) {
      const int64_t size = chunk.end - chunk.begin;
      EXPECT_GT(testing::relative_error(after.narrow(2, chunk.begin, size),
                                        before.narrow(2, chunk.begin, size)),
                1e-4)
          << memory;
    }
  }
}

TEST(Transformer, ChunksDoNotReadTheirOwnWrites) {
  // The output of a chunk is the same with and without its write.
  const at::NoGradGuard no_grad;
  for (const std::string& memory : memory::recurrent_memory_names()) {
    TransformerConfig config = testing::tiny_config();
    config.recurrent_memory = memory;
    const Transformer transformer = testing::random_transformer(config);
    const TinyWindow w = testing::tiny_window(config, 2);
    const TextKeys text = transformer.text_keys(w.text);
    ForwardContext writing;
    writing.visible.text = &text;
    ForwardContext reading = writing;
    reading.memory.write_states = false;
    EXPECT_TRUE(at::equal(forward(transformer, w, w.latents, reading),
                          forward(transformer, w, w.latents, writing)))
        << memory;
    if (memory == "none") continue;
    // Without write_states only the write of the last chunk is missing.
    EXPECT_FALSE(at::equal(reading.memory.states[1], writing.memory.states[1])) << memory;
  }
}

TEST(Transformer, IsEqualOnOneAndTwoThreads) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not see how the threads of libgomp wait for each other";
#endif
  TransformerConfig config = testing::tiny_config();
  config.heads = 2;
  config.ffn_dim = 512;
  const Transformer transformer = testing::random_transformer(config);
  transformer.parameters().set_requires_grad(true);
  const TinyWindow w = testing::tiny_window(config, 4, /*batch=*/2);
  const auto run = [&](int threads) {
    at::set_num_threads(threads);
    std::vector<at::Tensor> parameters, results = {testing::window_velocity(transformer, w)};
    for (const Parameter& p : transformer.parameters().all()) parameters.push_back(p.tensor);
    for (const at::Tensor& g :
         torch::autograd::grad({testing::weighted_sum(results[0])}, parameters)) {
      results.push_back(g);
    }
    return results;
  };
  const int threads = at::get_num_threads();
  const std::vector<at::Tensor> one = run(1), two = run(2);
  at::set_num_threads(threads);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(at::equal(one[i], two[i])) << i;
}

TEST(Transformer, Bf16IsCloseToFp32WithFp32StatesAndOutputs) {
  const at::NoGradGuard no_grad;
  const TransformerConfig config = testing::tiny_config();
  Transformer transformer = testing::random_transformer(config);
  const TinyWindow w = testing::tiny_window(config, 3);
  std::vector<at::Tensor> wide, narrow;
  const at::Tensor exact = testing::window_velocity(transformer, w, &wide);
  transformer.set_compute_type(at::kBFloat16);
  const at::Tensor rounded = testing::window_velocity(transformer, w, &narrow);
  EXPECT_EQ(rounded.scalar_type(), at::kFloat);
  EXPECT_EQ(narrow[1].scalar_type(), at::kFloat);
  EXPECT_LT(testing::relative_error(rounded, exact), 0.1);
  EXPECT_LT(testing::relative_error(narrow[1], wide[1]), 0.1);
  EXPECT_GT(testing::relative_error(rounded, exact), 1e-5);  // it did compute in BF16
  EXPECT_EQ(transformer.kv_layout(1, w.grid).dtype, at::kBFloat16);
}

TEST(Transformer, ShortTextsArePaddedWithZeros) {
  const at::NoGradGuard no_grad;
  const TransformerConfig config = testing::tiny_config();
  const Transformer transformer = testing::random_transformer(config);
  TinyWindow w = testing::tiny_window(config, 1);
  const at::Tensor shorter = testing::window_velocity(transformer, w);
  w.text = at::constant_pad_nd(w.text, {0, 0, 0, config.text_len - w.text.size(1)});
  EXPECT_TRUE(at::equal(testing::window_velocity(transformer, w), shorter));
  w.text = at::zeros({1, config.text_len + 1, config.text_dim});
  EXPECT_BAD_INPUT(testing::window_velocity(transformer, w), HasSubstr("at most 4"));
}

TEST(Transformer, RejectsInconsistentInputs) {
  const TransformerConfig config = testing::tiny_config();
  const Transformer transformer = testing::random_transformer(config);
  TinyWindow w = testing::tiny_window(config, 1);
  const TextKeys text = transformer.text_keys(w.text);
  ForwardContext context;
  EXPECT_INTERNAL_ERROR(forward(transformer, w, w.latents, context), HasSubstr("no text"));
  context.visible.text = &text;
  EXPECT_INTERNAL_ERROR(forward(transformer, w, w.latents.narrow(2, 0, 2), context),
                        HasSubstr("other frames"));
  EXPECT_INTERNAL_ERROR(forward(transformer, w, w.latents[0], context),
                        HasSubstr("latents must be"));
  context.visible.chunks = window_chunks(5, 2);
  EXPECT_INTERNAL_ERROR(forward(transformer, w, w.latents, context), HasSubstr("do not cover"));
  EXPECT_INTERNAL_ERROR(window_chunks(4, 2), HasSubstr("not 1 + a multiple"));
  EXPECT_BAD_INPUT(forward(transformer, w, at::randn({1, 3, 3, 4, 7}), context),
                   HasSubstr("do not divide"));
}

}  // namespace
}  // namespace loci::model
