// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/eval/analysis/probe_suite.h"
#include "loci/eval/metrics/ridge.h"
#include "loci/eval/suites/runner.h"

#include "tests/eval/tiny_recording.h"

namespace loci::eval {
namespace {

namespace fs = std::filesystem;

TEST(Ridge, PredictsLinearTargetsOfUnseenTrajectories) {
  at::manual_seed(3);
  const at::Tensor features = at::randn({120, 300}, at::kDouble);
  std::vector<int64_t> trajectories;
  for (int64_t i = 0; i < 120; ++i) trajectories.push_back(i / 10);
  const at::Tensor targets =
      at::stack({features.select(1, 0) * 3 + 7, features.select(1, 1) - features.select(1, 2)}, 1);
  // With far more features than rows, the prediction is only partly possible.
  EXPECT_GT(r_squared(ridge_predictions(features, targets, trajectories), targets), 0.2);
  const at::Tensor few = features.narrow(1, 0, 20);
  EXPECT_GT(r_squared(ridge_predictions(few, targets, trajectories), targets), 0.99);
  const at::Tensor other = at::randn({120, 2}, at::kDouble);
  EXPECT_LT(r_squared(ridge_predictions(few, other, trajectories), other), 0.1);
  // Features that only identify trajectories do not generalise to unseen ones.
  const at::Tensor names = at::eye(12, at::kDouble).repeat_interleave(10, 0);
  const at::Tensor offsets = at::randn({12, 1}, at::kDouble).repeat_interleave(10, 0);
  EXPECT_LT(r_squared(ridge_predictions(names, offsets, trajectories), offsets), 0.1);
  EXPECT_THROW(ridge_predictions(few, targets, std::vector<int64_t>(120, 0)), Error);
  // Several targets at once give the same predictions as one by one, each with its own penalty.
  const std::vector<at::Tensor> both =
      ridge_predictions(few, std::vector{targets, other}, trajectories);
  EXPECT_TRUE(at::allclose(both[0], ridge_predictions(few, targets, trajectories)));
  EXPECT_TRUE(at::allclose(both[1], ridge_predictions(few, other, trajectories)));
  EXPECT_TRUE(std::isnan(r_squared(at::zeros({3, 1}, at::kDouble), at::ones({3, 1}, at::kDouble))));
}

TEST(Probe, InvariantSummariesDoNotChangeUnderRotation) {
  at::manual_seed(3);
  const at::Tensor states = at::randn({2, 3, 8, 8}, at::kDouble);
  const at::Tensor rotated =
      at::matmul(std::get<0>(at::linalg_qr(at::randn({8, 8}, at::kDouble))), states);
  const at::Tensor summaries = invariant_summaries(states);
  EXPECT_EQ(summaries.sizes(), at::IntArrayRef({2, 27}));
  EXPECT_TRUE(at::allclose(invariant_summaries(rotated), summaries));
}

TEST(Probe, RunsOnRecordings) {
  const fs::path folder =
      fs::path(::testing::TempDir()) / ("loci_probe_test_" + std::to_string(::getpid()));
  make_tiny_folder(folder / "model", 1);
  for (const char* name : {"a", "b", "c"}) make_tiny_recording(folder / "data" / name, 49, name[0]);
  ProbeSetup setup{
      parse_models({(folder / "model").string()}), {}, folder / "data", folder / "out"};
  setup.sampling.cache = folder / "cache";
  setup.first_chunk = 3;
  setup.permutations = 2;
  ProbeSuite suite(setup);
  EXPECT_EQ(run_suite(suite, {folder / "out"}), 0);
  const Json results = load_json(folder / "out/results.json");
  EXPECT_EQ(results["values"]["a"]["model"]["r2"].size(), 4u) << "after chunks 3 to 6";
  EXPECT_EQ(results["values"]["a"]["model"]["error"].size(), 1u);
  for (const char* key : {"r2_invariant", "r2_past", "r2_current"}) {
    EXPECT_EQ(results["values"]["a"]["model"][key].size(), 4u) << key;
  }
  // Input tokens do not depend on the recurrent branch.
  EXPECT_EQ(results["values"]["a"]["model"]["r2_past"],
            results["values"]["a"]["model, untrained branch"]["r2_past"]);
  EXPECT_NE(results["values"]["a"]["model"]["r2"],
            results["values"]["a"]["model, untrained branch"]["r2"]);
  setup.first_chunk = 9;
  EXPECT_THROW(ProbeSuite{setup}, Error);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace loci::eval
