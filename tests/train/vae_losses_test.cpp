// SPDX-License-Identifier: Apache-2.0
// Training of an autoencoder with LPIPS and a discriminator.
#include <cmath>
#include <numeric>

#include <ATen/core/grad_mode.h>

#include "loci/base/file.h"
#include "loci/io/media/image_statistics.h"
#include "loci/model/autoencoder/pixels.h"
#include "loci/train/autoencoder/vae_score.h"

#include "../base/expect_error.h"
#include "../model/formula_weights.h"
#include "vae_training.h"

namespace loci::train {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class VaeNetworkLosses : public VaeTraining {
 protected:
  VaeNetworkLosses() {
    const fs::path weights = folder_ / "lpips.safetensors";
    model::write_formula_lpips(model::LpipsNet::kAlex, weights);
    recipe_["data"]["width"] = recipe_["data"]["height"] = 40;
    recipe_["updates"] = 5;
    recipe_["phases"] = {{{"frames", 5}}};
    recipe_["loss"] = {
        {"lpips", {{"weight", 0.5}, {"file", weights.string()}, {"frames", 2}, {"crop", 36}}},
        {"adversarial",
         {{"weight", 0.3}, {"from", 2}, {"channels", 4}, {"layers", 2}, {"stack", 2}}}};
  }
};

TEST_F(VaeNetworkLosses, AreLoggedAndPartOfTheLoss) {
  VaeRun(config(), folder_ / "run", false, *alone_).loop.run();
  const auto logged = [&](const std::string& key) { return values("run", key); };
  const std::vector<double> total = logged("loss"), l1 = logged("l1"), lpips = logged("lpips"),
                            structure = logged("structure"), kl = logged("kl"),
                            adversarial = logged("adversarial"),
                            weight = logged("adversarial_weight");
  ASSERT_EQ(total.size(), 5u);
  ASSERT_EQ(lpips.size(), 5u);
  // The discriminator begins at its update.
  ASSERT_EQ(adversarial.size(), 3u);
  EXPECT_EQ(logged("discriminator").size(), 3u);
  for (size_t i = 0; i < 5; ++i) {
    double sum = l1[i] + 0.2 * structure[i] + 1e-3 * kl[i] + 0.5 * lpips[i];
    if (i >= 2) sum += weight[i - 2] * adversarial[i - 2];
    EXPECT_NEAR(total[i], sum, 1e-5 * std::abs(sum)) << i;
  }
  for (const double value : weight) EXPECT_GT(value, 0);
  EXPECT_EQ(logged("validation/lpips_alex").size(), 1u);
  EXPECT_GT(logged("validation/sharpness").front(), 0);
  EXPECT_GT(logged("validation/contrast").front(), 0);
}

TEST_F(VaeNetworkLosses, AResumedRunHasTheSameBytes) {
  const std::string weights = "run/vae/diffusion_pytorch_model.safetensors";
  VaeRun(config(), folder_ / "run", false, *alone_).loop.run();
  const std::vector<double> expected = losses("run");
  const std::string exported = read_file(folder_ / weights);
  const std::string task = read_file(folder_ / "run/checkpoint-00000005/task.safetensors");
  // The exported autoencoder and the EMA weights do not contain the discriminator.
  EXPECT_EQ(exported.find("discriminator"), std::string::npos);
  EXPECT_EQ(read_file(folder_ / "run/checkpoint-00000005/ema.safetensors").find("discriminator"),
            std::string::npos);

  // As after a crash: only the checkpoint of update 3 exists.
  ASSERT_GT(fs::remove_all(folder_ / "run/checkpoint-00000005"), 0u);
  fs::remove_all(folder_ / "run/vae");
  VaeRun(config(), folder_ / "run", true, *alone_).loop.run();
  EXPECT_EQ(losses("run"), expected);
  EXPECT_TRUE(read_file(folder_ / weights) == exported);
  EXPECT_TRUE(read_file(folder_ / "run/checkpoint-00000005/task.safetensors") == task);

  // A checkpoint without a discriminator cannot be resumed with one.
  Json plain = recipe_;
  plain["loss"].erase("adversarial");
  VaeRun(VaeRecipe::from_json(plain, "plain"), folder_ / "plain", false, *alone_).loop.run();
  EXPECT_FALSE(fs::exists(folder_ / "plain/checkpoint-00000005/task.safetensors"));
  EXPECT_BAD_INPUT(VaeRun(config(), folder_ / "plain", true, *alone_),
                   HasSubstr("resume with the recipe of the run"));
}

TEST_F(VaeNetworkLosses, TwoRanksHaveTheLossesOfOne) {
  recipe_["batch"] = 2;
  recipe_["compute"] = "float32";
  const std::string recipe = (folder_ / "recipe.json").string();
  write_file(recipe, recipe_.dump());
  const auto run = [&](const std::string& out, const std::string& options) {
    return std::system(fmt::format("'{}' --quiet --threads 1 train vae '{}' --out '{}' {}",
                                   LOCI_BINARY, recipe, (folder_ / out).string(), options)
                           .c_str());
  };
  ASSERT_EQ(run("1", ""), 0);
  ASSERT_EQ(run("2", "--ranks 2"), 0);
  for (const char* key : {"loss", "lpips", "adversarial", "adversarial_weight", "discriminator"}) {
    const std::vector<double> one = values("1", key), two = values("2", key);
    ASSERT_EQ(one.size(), two.size()) << key;
    ASSERT_FALSE(one.empty()) << key;
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_NEAR(two[i], one[i], 1e-2 * std::abs(one[i]) + 2e-3) << key << " " << i;
    }
  }
}

TEST_F(VaeNetworkLosses, FollowTheWeights) {
  // Without other losses and without adaptation, the gradient is that of the adversarial loss.
  recipe_["loss"] = {
      {"l1", 0.0},
      {"structure", 0.0},
      {"kl", 0.0},
      {"adversarial",
       {{"weight", 0.5}, {"adaptive", false}, {"channels", 4}, {"layers", 2}, {"number", 1}}}};
  VaeRun run(config(), folder_ / "run", false, *alone_);
  const TrainingLoop::UpdateResult result = run.loop.update();
  const std::map<std::string, double> terms(result.losses.begin(), result.losses.end());
  EXPECT_EQ(terms.at("adversarial_weight"), 0.5);
  EXPECT_NEAR(terms.at("loss"), 0.5 * terms.at("adversarial"), 1e-7);
  EXPECT_GT(result.gradient_norm, 0);
  EXPECT_FALSE(terms.contains("lpips"));
}

TEST_F(VaeNetworkLosses, AreNotPossibleForEveryRecipe) {
  const auto with = [&](const std::string& key, const Json& value) {
    Json recipe = recipe_;
    recipe["loss"][key].merge_patch(value);
    return VaeRecipe::from_json(recipe, "toy");
  };
  EXPECT_BAD_INPUT(with("lpips", {{"file", nullptr}}), HasSubstr("scripts/fetch_lpips.py"));
  EXPECT_BAD_INPUT(with("lpips", {{"crop", 20}}), HasSubstr("at least 35 pixels"));
  EXPECT_BAD_INPUT(with("lpips", {{"crops", 20}}), HasSubstr("crop"));
  EXPECT_BAD_INPUT(with("adversarial", {{"stack", 6}}), HasSubstr("judges 6 frames at once"));
  EXPECT_BAD_INPUT(with("adversarial", {{"layers", 6}}), HasSubstr("at least 64x64 pixels"));
  EXPECT_BAD_INPUT(with("adversarial", {{"weight", -1}}), HasSubstr("weight"));
  const VaeRecipe absent = with("lpips", {{"file", "nothing/lpips_alex.safetensors"}});
  EXPECT_BAD_INPUT(VaeRun(absent, folder_ / "absent", false, *alone_),
                   HasSubstr("nothing/lpips_alex.safetensors does not exist; python3 "
                             "scripts/fetch_lpips.py nothing writes"));
  recipe_["phases"] = {{{"frames", 1}, {"width", 24}, {"height", 24}},
                       {{"from", 2}, {"frames", 5}}};
  EXPECT_BAD_INPUT(config(), HasSubstr("at least 35x35 pixels; phase 0 has 24x24"));
  // Short clips are allowed before the discriminator begins.
  recipe_["loss"]["lpips"]["weight"] = 0;
  EXPECT_EQ(config().adversarial.from, 2);
  recipe_["loss"]["adversarial"]["from"] = 1;
  EXPECT_BAD_INPUT(config(), HasSubstr("phase 0 has clips of 1"));
}

TEST_F(VaeTraining, ScoresSharpnessAndContrastRelativeToTheRecording) {
  recipe_["model"]["block_transform"] = true;
  recipe_["model"]["z_dim"] = 8;
  recipe_["transform_clips"] = 12;
  const VaeRun run(config(), folder_ / "run", false, *alone_);
  const model::Vae& vae = run.task.vae();
  const auto clips = open_video_clips(config().data, ClipSplit::kValidation, 4);
  const at::NoGradGuard no_grad;
  const at::Tensor frames = clips->clip(0, 5).frames;
  const at::Tensor latents = vae.encode(model::pixels_from_frames(frames)).mean;
  const at::Tensor decoded = model::frames_from_pixels(vae.decode(latents));
  const auto sum = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
  };
  const VaeScore score = score_autoencoder(vae, *clips, config().validation, nullptr);
  EXPECT_NEAR(score.sharpness, sum(io::sharpness(decoded)) / sum(io::sharpness(frames)), 1e-6);
  EXPECT_NEAR(score.contrast, sum(io::contrast(decoded)) / sum(io::contrast(frames)), 1e-6);
  EXPECT_NEAR(score.contrast, 1, 0.2);
  EXPECT_FALSE(score.lpips.has_value());
}

TEST_F(VaeTraining, ScenesHaveTheStyleOfTheRecipe) {
  recipe_["data"] = {{"width", 32},     {"height", 32},     {"style", "town"},
                     {"time", "night"}, {"weather", "fog"}, {"workers", 0}};
  const auto clips = open_video_clips(config().data, ClipSplit::kTraining, 4);
  for (uint64_t i = 0; i < 9; i += 4) {
    const world::Clip clip = clips->clip(i, 1);
    EXPECT_EQ(clip.origin->style, "town");
    EXPECT_EQ(clip.origin->time, "night");
    EXPECT_EQ(clip.origin->weather, "fog");
  }
  const auto moved = [](const world::Clip& clip) {
    return camera::norm(clip.trajectory.cameras.back().pose.position -
                        clip.trajectory.cameras.front().pose.position);
  };
  // Clips are parts of walks, not their beginnings at rest, and follow the speed.
  const auto distance = [&] {
    const auto moving = open_video_clips(config().data, ClipSplit::kTraining, 4);
    double sum = 0;
    for (uint64_t i = 0; i < 24; ++i) sum += moved(moving->clip(i, 5));
    return sum;
  };
  const double usual = distance();
  EXPECT_GT(usual, 24 * 0.05);
  recipe_["data"]["speed"] = 0.1;
  EXPECT_LT(distance(), 0.5 * usual);
  recipe_["data"]["style"] = "village";
  EXPECT_BAD_INPUT(config(), HasSubstr("courtyard"));
  recipe_["data"] = {{"folder", "videos"}, {"fps", 24}};
  EXPECT_BAD_INPUT(config(), HasSubstr("fps is a property of procedural scenes"));
}

}  // namespace
}  // namespace loci::train
