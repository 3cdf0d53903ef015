// SPDX-License-Identifier: Apache-2.0
#include "loci/model/perceptual/lpips.h"

#include <unistd.h>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/base/config.h"

#include "../base/expect_error.h"
#include "formula_weights.h"

namespace loci::model {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(LpipsLoss, HasTheGradientOfPyTorch) {
  const Json cases = load_json(fs::path(LOCI_TEST_DATA) / "model" / "lpips.json");
  for (const LpipsNet net : {LpipsNet::kAlex, LpipsNet::kVgg}) {
    const Lpips lpips = formula_lpips(net);
    const Json& wanted = cases[lpips.name()];
    const at::Tensor target = formula_noise({2, 3, 40, 52}, 1, 1.8).requires_grad_(true);
    const at::Tensor picture =
        (target.detach() + formula_noise({2, 3, 40, 52}, 2, 0.5)).requires_grad_(true);
    const at::Tensor loss = lpips.loss(picture, target);
    EXPECT_NEAR(loss.item<double>() / wanted["distance"].get<double>(), 1, 1e-5) << lpips.name();
    loss.backward();
    const at::Tensor gradient = picture.grad().flatten();
    const auto norm = wanted["norm"].get<double>();
    EXPECT_NEAR(gradient.norm().item<double>() / norm, 1, 1e-4) << lpips.name();
    const auto values = wanted["every_1001st"].get<std::vector<double>>();
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(gradient[static_cast<int64_t>(i) * 1001].item<double>(), values[i], 1e-4 * norm);
    }
    EXPECT_FALSE(target.grad().defined());
  }
}

TEST(LpipsLoss, IsTheMeanDistanceOfTheFrames) {
  const Lpips lpips = formula_lpips(LpipsNet::kAlex);
  const at::Tensor a = formula_noise({3, 40, 52, 3}, 1, 1) + 0.5;
  const at::Tensor b = (a + formula_noise({3, 40, 52, 3}, 2, 0.3)).clamp(0, 1);
  const auto pictures = [](const at::Tensor& frames) {
    return frames.permute({0, 3, 1, 2}) * 2 - 1;
  };
  double mean = 0;
  for (const double distance : lpips.distance(a, b)) mean += distance / 3;
  EXPECT_NEAR(lpips.loss(pictures(b), pictures(a)).item<double>(), mean, 1e-5 * mean);
}

// A picture for which a layer has no positive output at some pixels.
TEST(LpipsLoss, HasAFiniteGradientForZeroFeatures) {
  const Lpips lpips(
      LpipsNet::kAlex,
      [](const std::string& name) {
        const at::Tensor weight = formula_lpips_weight(LpipsNet::kAlex, name);
        return name == "features.3.bias" ? weight - 100 : weight;
      },
      "formula");
  const at::Tensor picture = formula_noise({1, 3, 40, 40}, 1, 1).requires_grad_(true);
  lpips.loss(picture, formula_noise({1, 3, 40, 40}, 2, 1)).backward();
  EXPECT_TRUE(picture.grad().isfinite().all().item<bool>());
  EXPECT_GT(picture.grad().abs().max().item<double>(), 0);
}

TEST(LpipsFile, TellsWhichNetworkItContains) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("loci-lpips-{}", getpid());
  fs::create_directories(folder);
  for (const LpipsNet net : {LpipsNet::kAlex, LpipsNet::kVgg}) {
    const fs::path file = folder / "weights.safetensors";
    write_formula_lpips(net, file);
    EXPECT_EQ(Lpips::load(file).net(), net);
  }
  EXPECT_BAD_INPUT(Lpips::load(folder / "absent.safetensors"),
                   HasSubstr("python3 scripts/fetch_lpips.py " + folder.string()));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace loci::model
