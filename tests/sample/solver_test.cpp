// SPDX-License-Identifier: Apache-2.0
#include "loci/sample/solvers/solver.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/base/error.h"

namespace loci::sample {
namespace {

// Runs a solver on a Gaussian with standard deviation `spread` around `centre`, whose velocity is
// known exactly. At noise level s, x has variance V = (1-s)² spread² + s², the expected velocity is
// -centre + (s - (1-s) spread²) / V * (x - (1-s) centre), and the flow ends at
// centre + spread * x(1).
double solve(const std::string& kind, int64_t steps, double start, double centre, double spread) {
  const auto solver = make_solver({.kind = kind, .steps = steps, .shift = 3});
  solver->set_noise([start](int64_t) { return at::full({1}, start, at::kDouble); });
  const double variance = spread * spread;
  at::Tensor x = at::full({1}, start, at::kDouble);
  for (int64_t i = 0; i < steps; ++i) {
    const double s = solver->level(i);
    const double total = (1 - s) * (1 - s) * variance + s * s;
    const at::Tensor velocity =
        (x - (1 - s) * centre) * ((s - (1 - s) * variance) / total) - centre;
    x = solver->step(i, x, velocity);
  }
  return x.item<double>();
}

class EverySolver : public ::testing::TestWithParam<std::string> {};

TEST_P(EverySolver, ReachesASinglePointInAnyNumberOfSteps) {
  // renoise-bf16 predicts with other levels than those of its noise.
  const double tolerance = GetParam() == "renoise-bf16" ? 0.02 : 1e-9;
  for (const int64_t steps : {1, 2, 5, 20}) {
    EXPECT_NEAR(solve(GetParam(), steps, 1.7, 0.4, 0), 0.4, tolerance) << steps;
  }
}

TEST_P(EverySolver, ConvergesToTheExactFlow) {
  if (GetParam() == "mean") {  // does not solve the ODE, but finds the mean in one step
    EXPECT_NEAR(solve("mean", 1, 1.7, 0.4, 0.8), 0.4, 1e-9);
    return;
  }
  if (GetParam().starts_with("renoise")) return;  // adds noise instead of following the flow
  // UniPC starts just below level 1, which causes a small error independent of the number of steps.
  const double tolerance = GetParam() == "euler" ? 0.02 : 2e-3;
  EXPECT_NEAR(solve(GetParam(), 200, 1.7, 0.4, 0.8), 0.4 + 0.8 * 1.7, tolerance);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EverySolver, ::testing::ValuesIn(solver_names()),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) {
                             if (c == '+') c = 'p';
                             if (c == '-') c = '_';
                           }
                           return name;
                         });

TEST(Solver, SecondOrderIsMoreAccurateThanEuler) {
  const double exact = 0.4 + 0.8 * 1.7;
  const double euler = std::abs(solve("euler", 20, 1.7, 0.4, 0.8) - exact);
  EXPECT_LT(std::abs(solve("dpm++", 20, 1.7, 0.4, 0.8) - exact), 0.3 * euler);
  EXPECT_LT(std::abs(solve("unipc", 20, 1.7, 0.4, 0.8) - exact), 0.3 * euler);
}

TEST(Solver, OppositeNoiseCancelsFirstOrderErrors) {
  at::manual_seed(2);
  const at::Tensor truth = at::randn({2, 3}), noise = at::randn({2, 3});
  // A model whose prediction contains a part of the noise.
  const auto velocity = [&](const at::Tensor& x) { return 0.7 * x - truth; };
  for (const int64_t steps : {1, 2, 3, 6}) {
    const auto solver = make_solver({.kind = "mean", .steps = steps, .shift = 1});
    at::Tensor x = noise;
    std::vector<at::Tensor> looks;
    for (int64_t i = 0; i < steps; ++i) {
      EXPECT_EQ(solver->timestep(i), 1000);
      looks.push_back(x);
      x = solver->step(i, x, velocity(x));
    }
    EXPECT_EQ(x.allclose(truth), steps % 2 == 0) << steps;
    if (steps == 6) {
      EXPECT_TRUE(looks[1].equal(-looks[0]));
      EXPECT_TRUE(looks[4].equal(looks[0].roll(2, 1)));
    }
  }
}

TEST(Solver, EulerUsesTheLevelsOfTheRelease) {
  const auto solver = make_euler(50, 5);
  EXPECT_DOUBLE_EQ(solver->timestep(0), 1000);
  EXPECT_NEAR(solver->timestep(1), 995.935, 1e-3);
  EXPECT_NEAR(solver->timestep(2), 991.736, 1e-3);
  EXPECT_NEAR(solver->timestep(49), 92.593, 1e-3);
  EXPECT_EQ(solver->level(50), 0);
  EXPECT_EQ(solver->steps(), 50);
}

TEST(Solver, WanSolversUseIntegerTimesteps) {
  for (const std::string& kind : {std::string("unipc"), std::string("dpm++")}) {
    const auto solver = make_solver({.kind = kind, .steps = 20, .shift = 5});
    for (int64_t i = 0; i < 20; ++i) {
      EXPECT_EQ(solver->timestep(i), std::floor(solver->timestep(i)));
    }
  }
  EXPECT_EQ(make_unipc(50, 5)->timestep(0), 999);
  EXPECT_EQ(make_dpmpp(50, 5)->timestep(0), 1000);
}

TEST(Solver, RejectsInvalidOptions) {
  EXPECT_THROW(make_solver({.kind = "rk4"}), Error);
  EXPECT_THROW(make_solver({.steps = 0}), Error);
  EXPECT_THROW(make_solver({.shift = 0}), Error);
  EXPECT_THROW(make_solver({.shift = 1e-300}), Error);
}

}  // namespace
}  // namespace loci::sample
