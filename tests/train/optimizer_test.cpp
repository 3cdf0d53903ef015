// SPDX-License-Identifier: Apache-2.0
#include "loci/train/loop/optimizer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/base/error.h"

namespace loci::train {
namespace {

OptimizerConfig config_with(double rate, const std::string& kind = "adamw") {
  OptimizerConfig config;
  config.kind = kind;
  for (const ParameterGroup group : kParameterGroups) config.learning_rates[group] = rate;
  config.warmup_updates = 0;
  config.decay_updates = 1 << 30;
  config.clip = 1e6;
  return config;
}

TEST(Optimizer, FindsTheGroupOfAParameterByItsName) {
  EXPECT_EQ(group_of("blocks.3.camera_attn.q_proj.weight"), ParameterGroup::kCamera);
  EXPECT_EQ(group_of("blocks.3.kda.phi_q.weight"), ParameterGroup::kRecurrent);
  EXPECT_EQ(group_of("blocks.3.attn1.to_q.weight"), ParameterGroup::kBackbone);
  EXPECT_EQ(group_of("proj_out.bias"), ParameterGroup::kBackbone);
}

TEST(Optimizer, AdamWMatchesItsFormula) {
  at::Tensor p = at::tensor({1.0, -2.0}, at::kFloat);
  auto single = make_single_communicator();
  OptimizerConfig config = config_with(0.1);
  config.beta1 = 0.9;
  config.beta2 = 0.99;
  Optimizer optimizer(config, {{"w", p}}, *single);
  double m[2] = {0, 0}, v[2] = {0, 0}, x[2] = {1, -2};
  for (int t = 0; t < 5; ++t) {
    optimizer.zero_gradients();
    ((p * p).sum() * (t + 1)).backward();
    optimizer.step(t);
    for (int i = 0; i < 2; ++i) {
      const double g = 2 * x[i] * (t + 1);
      m[i] = 0.9 * m[i] + 0.1 * g;
      v[i] = 0.99 * v[i] + 0.01 * g * g;
      const double mh = m[i] / (1 - std::pow(0.9, t + 1));
      const double vh = v[i] / (1 - std::pow(0.99, t + 1));
      x[i] -= 0.1 * mh / (std::sqrt(vh) + 1e-8);
    }
  }
  EXPECT_NEAR(p[0].item<double>(), x[0], 1e-5);
  EXPECT_NEAR(p[1].item<double>(), x[1], 1e-5);
}

TEST(Optimizer, OrthogonaliseBringsSingularValuesNearOne) {
  at::manual_seed(1);
  for (const auto& [r, c] : std::vector<std::pair<int, int>>{{64, 64}, {32, 128}, {128, 48}}) {
    const at::Tensor x = orthogonalise(at::randn({2, r, c}));
    const at::Tensor s = at::linalg_svdvals(x);
    EXPECT_GT(s.min().item<double>(), 0.3) << r << "x" << c;
    EXPECT_LT(s.max().item<double>(), 1.4) << r << "x" << c;
  }
}

TEST(Optimizer, MuonReducesTheLossOfAMatrix) {
  at::manual_seed(2);
  at::Tensor w = at::randn({64, 64}) * 0.1;
  const at::Tensor target = at::randn({64, 64});
  auto single = make_single_communicator();
  OptimizerConfig config = config_with(1e-3, "muon");
  config.muon_learning_rate = 0.1;
  Optimizer optimizer(config, {{"blocks.0.attn1.to_q.weight", w}}, *single);
  double first = 0, last = 0;
  for (int t = 0; t < 100; ++t) {
    optimizer.zero_gradients();
    const at::Tensor loss = (w - target).square().mean();
    loss.backward();
    optimizer.step(t);
    (t == 0 ? first : last) = loss.item<double>();
  }
  EXPECT_LT(last, 0.3 * first);
}

TEST(Optimizer, GatesHaveTheirOwnLearningRate) {
  auto single = make_single_communicator();
  OptimizerConfig config = config_with(1e-2, "muon");
  config.muon_learning_rate = 0.1;
  config.gate_learning_rate = 1e-4;
  // The first step of AdamW has the size of the learning rate, whatever the gradient.
  const std::map<std::string, double> steps = {{"blocks.1.kda.a_proj.weight", 1e-4},
                                               {"blocks.1.kda.gate_proj.weight", 1e-4},
                                               {"blocks.1.kda.dt_bias", 1e-2}};
  std::vector<model::Parameter> parameters;
  for (const auto& [name, step] : steps) {
    const bool matrix = name.ends_with(".weight");
    parameters.push_back({name, at::zeros(matrix ? at::IntArrayRef{64, 64} : at::IntArrayRef{64})});
  }
  Optimizer optimizer(config, parameters, *single);
  for (const model::Parameter& parameter : parameters) parameter.tensor.sum().backward();
  optimizer.step(0);
  for (const auto& [name, tensor] : parameters) {
    EXPECT_NEAR(tensor.flatten()[0].item<double>(), -steps.at(name), 1e-3 * steps.at(name)) << name;
  }
  // Without it Muon updates a_proj. AdamW would change every element by the same amount.
  config.gate_learning_rate.reset();
  at::manual_seed(3);
  at::Tensor matrix = at::zeros({64, 64});
  Optimizer plain(config, {{"blocks.1.kda.a_proj.weight", matrix}}, *single);
  (matrix * at::randn({64, 64})).sum().backward();
  plain.step(0);
  EXPECT_GT(matrix.abs().std().item<double>(), 0.1 * matrix.abs().mean().item<double>());
}

TEST(Optimizer, ClipsTheWholeGradient) {
  at::Tensor p = at::zeros({4});
  auto single = make_single_communicator();
  OptimizerConfig config = config_with(1);
  config.clip = 0.5;
  Optimizer optimizer(config, {{"w", p}}, *single);
  (p * at::tensor({3.0, 4.0, 0.0, 0.0}, at::kFloat)).sum().backward();
  EXPECT_NEAR(optimizer.step(0), 5, 1e-6);
  EXPECT_NEAR(p.grad().norm().item<double>(), 0.5, 1e-6);
}

TEST(Optimizer, ReportsTheGradientNormOfEachGroup) {
  at::Tensor plain = at::zeros({2}), state = at::zeros({2});
  auto single = make_single_communicator();
  OptimizerConfig config = config_with(1);
  config.clip = 0.5;
  Optimizer optimizer(config, {{"w", plain}, {"blocks.1.kda.x", state}, {"v", at::zeros({2})}},
                      *single);
  (plain * at::tensor({3.0, 0.0}, at::kFloat) + state * at::tensor({0.0, 4.0}, at::kFloat))
      .sum()
      .backward();
  EXPECT_NEAR(optimizer.step(0), 5, 1e-6);
  const std::map<ParameterGroup, double> expected = {{ParameterGroup::kBackbone, 3},
                                                     {ParameterGroup::kRecurrent, 4}};
  EXPECT_EQ(optimizer.group_norms(), expected);
}

TEST(Optimizer, WarmsUpAndDecaysByACosine) {
  OptimizerConfig config;
  config.warmup_updates = 250;
  config.decay_updates = 5000;
  config.final_share = 0.1;
  EXPECT_LT(config.learning_rate_factor(0), 0.01);
  EXPECT_NEAR(config.learning_rate_factor(250), 1, 1e-9);
  EXPECT_NEAR(config.learning_rate_factor((250 + 5000) / 2), 0.55, 1e-3);
  EXPECT_NEAR(config.learning_rate_factor(5000), 0.1, 1e-9);
  EXPECT_NEAR(config.learning_rate_factor(9000), 0.1, 1e-9);
}

TEST(Optimizer, DoesNotChangeFrozenGroups) {
  at::Tensor a = at::ones({2});
  at::Tensor b = at::ones({2});
  auto single = make_single_communicator();
  OptimizerConfig config = config_with(0.1);
  config.frozen = {ParameterGroup::kBackbone};
  Optimizer optimizer(config, {{"w", a}, {"blocks.0.kda.A_log", b}}, *single);
  EXPECT_FALSE(a.requires_grad());
  ((a + b) * 2).sum().backward();
  optimizer.step(0);
  EXPECT_TRUE(a.equal(at::ones({2})));
  EXPECT_FALSE(b.equal(at::ones({2})));
  config.frozen = {ParameterGroup::kBackbone, ParameterGroup::kRecurrent};
  EXPECT_THROW(Optimizer(config, {{"w", a}, {"blocks.0.kda.A_log", b}}, *single), Error);
}

}  // namespace
}  // namespace loci::train
