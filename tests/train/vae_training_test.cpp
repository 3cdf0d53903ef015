// SPDX-License-Identifier: Apache-2.0
#include "vae_training.h"

#include <cmath>
#include <fstream>
#include <memory>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/model/autoencoder/pixels.h"
#include "loci/model/autoencoder/vae_stream.h"
#include "loci/model/weights/weights.h"
#include "loci/train/autoencoder/vae_score.h"
#include "loci/train/transformer/transformer_recipe.h"

#include "../base/expect_error.h"
#include "toy_clips.h"
#include "training_runs.h"

namespace loci::train {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST_F(VaeTraining, ReducesTheLossOnAFolderOfVideos) {
  for (const char* kind : {"adamw", "muon"}) {
    recipe_["optimizer"]["kind"] = kind;
    recipe_["updates"] = 60;
    recipe_["phases"] = {{{"frames", 3}}};
    VaeRun run(config(), folder_ / kind, false, *alone_);
    std::vector<double> l1;
    for (int i = 0; i < 60; ++i) {
      const LossTerms losses = run.loop.update().losses;
      EXPECT_EQ(losses[1].first, "l1");
      l1.push_back(losses[1].second);
    }
    const auto mean = [&l1](size_t begin) {
      double sum = 0;
      for (size_t i = begin; i < begin + 10; ++i) sum += l1[i] / 10;
      return sum;
    };
    EXPECT_LT(mean(50), 0.8 * mean(0)) << kind;
    EXPECT_EQ(run.loop.updates_done(), 60);
    const auto clips = open_video_clips(config().data, ClipSplit::kValidation, 4);
    const VaeScore score = score_autoencoder(run.task.vae(), *clips, config().validation, nullptr);
    EXPECT_GT(score.psnr, 10);
    EXPECT_EQ(score.mean.size(), 4u);
  }
}

class VaeResume : public VaeTraining, public ::testing::WithParamInterface<const char*> {};

TEST_P(VaeResume, AResumedRunHasTheSameBytes) {
  recipe_["optimizer"]["kind"] = GetParam();
  VaeRun(config(), folder_ / "run", false, *alone_).loop.run();
  const std::vector<double> expected = losses("run");
  ASSERT_EQ(expected.size(), 6u);
  const std::string weights = "run/vae/diffusion_pytorch_model.safetensors";
  const std::string made = read_file(folder_ / weights);
  EXPECT_BAD_INPUT(VaeRun(config(), folder_ / "run", false, *alone_), HasSubstr("--resume"));

  // As after a crash in the second phase: only the checkpoint of update 3 exists.
  int removed = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "run")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("checkpoint-") && name.ends_with("6"))
      removed += fs::remove_all(entry) > 0;
  }
  ASSERT_EQ(removed, 1);
  fs::remove_all(folder_ / "run/vae");
  VaeRun resumed(config(), folder_ / "run", true, *alone_);
  EXPECT_EQ(resumed.loop.updates_done(), 3);
  resumed.loop.run();
  EXPECT_EQ(losses("run"), expected);
  EXPECT_EQ(read_file(folder_ / weights), made);

  // The exported autoencoder has the statistics of its latents.
  const model::Vae vae = model::Vae::load(folder_ / "run/vae");
  const at::NoGradGuard no_grad;
  const at::Tensor latents =
      model::VaeEncoder(vae).encode(model::pixels_from_frames(moving_gradient(5, 32, 32, 0.4)));
  EXPECT_LT(latents.abs().max().item<double>(), 50);
  EXPECT_NE(vae.config().latents_std, std::vector<double>(4, 1.0));
}

INSTANTIATE_TEST_SUITE_P(Optimizers, VaeResume, ::testing::Values("adamw", "muon"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(VaeTraining, DecoderOnlyKeepsTheEncoder) {
  Json whole = recipe_;
  whole["start"] = (folder_ / "nothing").string();
  EXPECT_BAD_INPUT(VaeRecipe::from_json(whole, "recipe"), HasSubstr("remove model"));
  whole.erase("start");
  whole["decoder_only"] = true;
  EXPECT_BAD_INPUT(VaeRecipe::from_json(whole, "recipe"), HasSubstr("set start"));
  VaeRun(VaeRecipe::from_json(recipe_, "recipe"), folder_ / "first", false, *alone_).loop.run();
  Json second = recipe_;
  second.erase("model");
  second["start"] = (folder_ / "first/vae").string();
  second["decoder_only"] = true;
  VaeRun(VaeRecipe::from_json(second, "recipe"), folder_ / "second", false, *alone_).loop.run();
  const model::Vae before = model::Vae::load(folder_ / "first/vae");
  const model::Vae after = model::Vae::load(folder_ / "second/vae");
  const at::Tensor pixels = model::pixels_from_frames(moving_gradient(5, 32, 32, 1));
  EXPECT_TRUE(at::equal(before.encode(pixels).mean, after.encode(pixels).mean));
  EXPECT_EQ(before.config().latents_mean, after.config().latents_mean);
  const at::Tensor latents = before.encode(pixels).mean;
  EXPECT_FALSE(at::equal(before.decode(latents), after.decode(latents)));
}

TEST_F(VaeTraining, AddsARefinerToATrainedDecoder) {
  VaeRun(config(), folder_ / "first", false, *alone_).loop.run();
  recipe_["compute"] = "float32";
  recipe_["refiner"] = {{"dim", 6}, {"blocks", 1}};
  EXPECT_BAD_INPUT(config(), HasSubstr("set model.refiner_dim"));
  recipe_.erase("model");
  recipe_["start"] = (folder_ / "first/vae").string();
  recipe_["decoder_only"] = true;
  const model::Vae before = model::Vae::load(folder_ / "first/vae");
  const at::Tensor pixels = model::pixels_from_frames(moving_gradient(5, 32, 32, 1));
  const at::Tensor latents = before.encode(pixels).mean;
  auto run = std::make_unique<VaeRun>(config(), folder_ / "second", false, *alone_);
  EXPECT_TRUE(run->task.vae().decode(latents).allclose(before.decode(latents), 0, 1e-6));
  run->loop.run();
  const model::Vae after = model::Vae::load(folder_ / "second/vae");
  EXPECT_EQ(after.config().refiner_dim, 6);
  EXPECT_TRUE(after.encode(pixels).mean.equal(latents));
  EXPECT_FALSE(after.decode(latents).allclose(before.decode(latents), 0, 1e-4));
  run.reset();
  const VaeRun resumed(config(), folder_ / "second", true, *alone_);
  EXPECT_TRUE(resumed.task.vae().encode(pixels).mean.equal(latents));
  recipe_["start"] = (folder_ / "second/vae").string();
  EXPECT_BAD_INPUT(config(), HasSubstr("remove refiner"));
}

TEST_F(VaeTraining, TrainsTheDecoderOnGeneratedLatents) {
  VaeRun(config(), folder_ / "first", false, *alone_).loop.run();
  const TransformerRecipe world = TransformerRecipe::from_json(toy_recipe(folder_), "toy");
  const model::Transformer transformer(world.model, std::make_shared<model::Parameters>());
  fs::create_directories(folder_ / "world");
  model::save_model(world.model, transformer.parameters().all(), folder_ / "world/transformer", {});
  fs::copy(folder_ / "first/vae", folder_ / "world/vae");
  Json recipe = recipe_;
  recipe.erase("model");
  recipe["start"] = (folder_ / "first/vae").string();
  recipe["world_model"] = (folder_ / "world").string();
  EXPECT_BAD_INPUT(VaeRecipe::from_json(recipe, "recipe"), HasSubstr("decoder_only"));
  recipe["decoder_only"] = true;
  EXPECT_BAD_INPUT(VaeRecipe::from_json(recipe, "recipe"), HasSubstr("remove data.folder"));
  recipe["data"].erase("folder");
  EXPECT_BAD_INPUT(VaeRecipe::from_json(recipe, "recipe"), HasSubstr("whole frames"));
  recipe["updates"] = 2;
  recipe["phases"] = {{{"frames", 7}}};
  EXPECT_BAD_INPUT(VaeRun(VaeRecipe::from_json(recipe, "r"), folder_ / "bad", false, *alone_),
                   HasSubstr("a multiple of 4, e.g. 9"));
  recipe["phases"][0]["frames"] = 9;
  VaeRun(VaeRecipe::from_json(recipe, "recipe"), folder_ / "second", false, *alone_).loop.run();
  EXPECT_THAT(read_file(folder_ / "second/metrics.jsonl"), HasSubstr("generated_psnr"));

  const model::Vae before = model::Vae::load(folder_ / "first/vae");
  const model::Vae after = model::Vae::load(folder_ / "second/vae");
  const world::Clip clip =
      open_video_clips(VideoClipsConfig::from(ConfigReader(recipe["data"], "")),
                       ClipSplit::kTraining, 1)
          ->clip(0, 17);
  const at::NoGradGuard no_grad;
  const at::Tensor latents = before.encode(model::pixels_from_frames(clip.frames)).mean;
  EXPECT_FALSE(at::equal(before.decode(latents), after.decode(latents)));
  const LatentGenerator generator(folder_ / "world", at::kFloat);
  const at::Tensor guess = generator.generate(before, latents, clip, 5);
  EXPECT_TRUE(at::equal(guess, generator.generate(before, latents, clip, 5)));
  const at::Tensor moved = (guess - latents).abs().amax({0, 1, 3, 4});  // [frames]
  EXPECT_LT(moved[0].item<double>(), 1e-4);
  EXPECT_GT(moved.max().item<double>(), 0.01);
  EXPECT_TRUE(moved.narrow(0, 1, 8).lt(1e-4).any().item<bool>());
}

TEST_F(VaeTraining, FitsATransformAndKeepsIt) {
  recipe_["model"]["block_transform"] = true;
  recipe_["model"]["z_dim"] = 24;
  recipe_["transform_clips"] = 12;
  recipe_["loss"] = {{"l1", 0.0}, {"l2", 1.0}};
  auto run = std::make_unique<VaeRun>(config(), folder_ / "run", false, *alone_);
  const model::Vae& vae = run->task.vae();
  const at::Tensor pixels = model::pixels_from_frames(moving_gradient(5, 32, 32, 0.9));
  const model::Vae::Posterior before = vae.encode(pixels);
  const auto error = [&] {
    const at::NoGradGuard no_grad;
    return (vae.decode(vae.encode(pixels).mean) - pixels).square().mean().item<double>();
  };
  // The gradients are smooth: 24 components describe nearly all of 384 values.
  EXPECT_LT(error(), 0.002);
  EXPECT_LT(before.mean.mean().abs().item<double>(), 0.5);
  // The first component varies most.
  const at::Tensor strength = before.mean.transpose(0, 1).flatten(1).std(1);
  EXPECT_GT(strength[0].item<double>(), strength[23].item<double>());
  for (int i = 0; i < 3; ++i) run->loop.update();
  EXPECT_TRUE(vae.encode(pixels).mean.equal(before.mean));
  run->loop.run();
  run.reset();
  VaeRun resumed(config(), folder_ / "run", true, *alone_);
  EXPECT_TRUE(resumed.task.vae().encode(pixels).mean.equal(before.mean));
  EXPECT_TRUE(model::Vae::load(folder_ / "run/vae").encode(pixels).mean.equal(before.mean));
}

TEST_F(VaeTraining, AddsChannelsToATransform) {
  recipe_["model"]["block_transform"] = true;
  recipe_["model"]["z_dim"] = 3;
  recipe_["transform_clips"] = 12;
  recipe_["updates"] = 2;
  recipe_["phases"] = {{{"frames", 5}}};
  VaeRun(config(), folder_ / "few", false, *alone_).loop.run();
  recipe_.erase("model");
  recipe_["start"] = (folder_ / "few/vae").string();
  recipe_["channels"] = 24;
  recipe_["transform_clips"] = 5;  // with another mean
  auto run = std::make_unique<VaeRun>(config(), folder_ / "many", false, *alone_);
  const at::Tensor pixels = model::pixels_from_frames(moving_gradient(5, 32, 32, 0.9));
  const auto encoded = [&](const model::Vae& vae) { return vae.encode(pixels).mean.detach(); };
  const auto decoded = [](const model::Vae& vae, const at::Tensor& latents) {
    return vae.decode(latents).detach().narrow(2, 1, 4);  // the first frame has another map
  };
  const model::Vae few = model::Vae::load(folder_ / "few/vae");
  const at::Tensor before = encoded(few), after = encoded(run->task.vae());
  ASSERT_EQ(after.size(1), 24);
  EXPECT_TRUE(at::allclose(after.narrow(1, 0, 3), before, 1e-4, 1e-5));
  const auto error = [&](const at::Tensor& frames) {
    return (frames - pixels.narrow(2, 1, 4)).square().mean().item<double>();
  };
  EXPECT_LT(error(decoded(run->task.vae(), after)), 0.5 * error(decoded(few, before)));
  // With zero in the new channels, the decoded frames stay the same.
  at::Tensor padded = at::zeros_like(after);
  padded.narrow(1, 0, 3).copy_(before);
  EXPECT_TRUE(at::allclose(decoded(run->task.vae(), padded), decoded(few, before), 1e-2, 2e-2));
  // All channels have the same scale: new ones are weaker, but not by orders of magnitude.
  const at::Tensor strength = after.transpose(0, 1).flatten(1).std(1);
  EXPECT_LT(strength[3].item<double>(), strength[0].item<double>());
  EXPECT_GT(strength[3].item<double>(), 0.01 * strength[0].item<double>());
  run->loop.run();
  EXPECT_TRUE(encoded(model::Vae::load(folder_ / "many/vae")).equal(after));
  run.reset();
  EXPECT_TRUE(encoded(VaeRun(config(), folder_ / "many", true, *alone_).task.vae()).equal(after));
  recipe_["channels"] = 3;
  EXPECT_BAD_INPUT(config(), HasSubstr("channels"));
  recipe_["model"] = {{"block_transform", true}};
  recipe_.erase("start");
  EXPECT_BAD_INPUT(config(), HasSubstr("set model.z_dim"));
}

TEST_F(VaeTraining, AddsAnEncoderToATransformAndReplacesTheDecoder) {
  recipe_["encoder"] = {{"base_dim", 8}};
  EXPECT_BAD_INPUT(config(), HasSubstr("set model.base_dim"));
  recipe_.erase("encoder");
  recipe_["model"]["block_transform"] = true;
  recipe_["model"]["z_dim"] = 3;
  recipe_["transform_clips"] = 12;
  recipe_["updates"] = 2;
  recipe_["phases"] = {{{"frames", 5}}};
  VaeRun(config(), folder_ / "plain", false, *alone_).loop.run();
  recipe_.erase("model");
  recipe_["start"] = (folder_ / "plain/vae").string();
  recipe_["encoder"] = {{"base_dim", 8}};
  recipe_["decoder"] = {{"base_dim", 12}};
  const model::Vae plain = model::Vae::load(folder_ / "plain/vae");
  auto run = std::make_unique<VaeRun>(config(), folder_ / "run", false, *alone_);
  const model::Vae& vae = run->task.vae();
  EXPECT_EQ(vae.config().base_dim, 8);
  EXPECT_EQ(vae.config().decoder_base_dim, 12);
  const at::Tensor pixels = model::pixels_from_frames(moving_gradient(5, 32, 32, 0.9));
  const at::Tensor latents = plain.encode(pixels).mean.detach();
  // The new networks add zero before the first update and something else after it.
  EXPECT_TRUE(vae.encode(pixels).mean.detach().equal(latents));
  const at::Tensor below =
      plain.transform()->decode(latents.permute({2, 0, 3, 4, 1}).contiguous(), true);
  EXPECT_TRUE(at::allclose(vae.decode(latents).detach(), below, 1e-4, 1e-4));
  run->loop.run();
  EXPECT_FALSE(vae.encode(pixels).mean.detach().equal(latents));
  EXPECT_FALSE(at::allclose(vae.decode(latents).detach(), below, 1e-4, 1e-4));
  // The scale of the latents stays that of the transform.
  const model::Vae saved = model::Vae::load(folder_ / "run/vae");
  EXPECT_EQ(saved.config().latents_std, plain.config().latents_std);
  run.reset();
  recipe_["start"] = (folder_ / "run/vae").string();
  EXPECT_BAD_INPUT(config(), HasSubstr("already has an encoder network"));
}

TEST_F(VaeTraining, RanksHaveDifferentClips) {
  VideoClipsConfig scenes;
  scenes.width = scenes.height = 32;
  scenes.workers = 0;
  const auto all = open_video_clips(scenes, ClipSplit::kTraining, 3);
  const auto second = open_video_clips(scenes, ClipSplit::kTraining, 3, 1, 2);
  // Four clips share a scene and a rank.
  EXPECT_TRUE(second->clip(0, 5).frames.equal(all->clip(4, 5).frames));
  EXPECT_TRUE(second->clip(5, 5).frames.equal(all->clip(13, 5).frames));
  const std::string recipe = (folder_ / "recipe.json").string();
  recipe_["updates"] = 3;
  recipe_["phases"] = {{{"frames", 3}, {"batch", 2}}};
  recipe_["checkpoint_updates"] = 2;
  write_file(recipe, recipe_.dump());
  const auto run = [&](const std::string& options) {
    return std::system(fmt::format("'{}' --quiet train vae '{}' --out '{}' --ranks 2 {}",
                                   LOCI_BINARY, recipe, (folder_ / "two").string(), options)
                           .c_str());
  };
  ASSERT_EQ(run(""), 0);
  EXPECT_EQ(losses("two").size(), 3u);
  EXPECT_TRUE(fs::exists(folder_ / "two/vae/config.json"));
  // Resumed from the checkpoint of update 2, the EMA weights of both ranks become the same.
  const fs::path weights = folder_ / "two/vae/diffusion_pytorch_model.safetensors";
  const std::string before = read_file(weights);
  ASSERT_GT(fs::remove_all(folder_ / "two/checkpoint-00000003"), 0u);
  ASSERT_EQ(run("--resume"), 0);
  EXPECT_TRUE(read_file(weights) == before);
  recipe_["phases"][0]["batch"] = 3;
  write_file(recipe, recipe_.dump());
  EXPECT_NE(run("--resume 2> /dev/null"), 0);  // three clips cannot be divided between two ranks
}

TEST_F(VaeTraining, FolderClipsAreResizedSplitAndRepeatable) {
  ::testing::internal::CaptureStderr();
  const VaeRecipe made = config();
  const auto training = open_video_clips(made.data, ClipSplit::kTraining, 1);
  const auto again = open_video_clips(made.data, ClipSplit::kTraining, 1);
  const auto validation = open_video_clips(made.data, ClipSplit::kValidation, 1);
  const at::Tensor clip = training->clip(7, 5).frames;
  EXPECT_EQ(clip.sizes().vec(), (std::vector<int64_t>{5, 32, 32, 3}));
  training->clip(8, 3);
  EXPECT_TRUE(again->clip(7, 5).frames.equal(clip));
  for (uint64_t i = 0; i < 8; ++i) {
    EXPECT_FALSE(training->clip(i, 5).frames.equal(validation->clip(0, 5).frames)) << i;
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("resized from 52 x 40"));
  EXPECT_BAD_INPUT(training->clip(0, 7), HasSubstr("has 7 frames"));

  fs::create_directories(folder_ / "empty");
  recipe_["data"]["folder"] = (folder_ / "empty").string();
  EXPECT_BAD_INPUT(VaeRun(config(), folder_ / "run", false, *alone_),
                   HasSubstr("contains no video"));
  recipe_["data"]["folder"] = (folder_ / "absent").string();
  EXPECT_BAD_INPUT(VaeRun(config(), folder_ / "run2", false, *alone_), HasSubstr("not a folder"));
}

TEST_F(VaeTraining, TrainsOnProceduralScenes) {
  recipe_["data"] = {{"width", 32}, {"height", 32}};
  VaeRun run(config(), folder_ / "run", false, *alone_);
  EXPECT_TRUE(std::isfinite(run.loop.update().losses.front().second));
  const auto clips = open_video_clips(config().data, ClipSplit::kValidation, 4);
  EXPECT_TRUE(
      std::isfinite(score_autoencoder(run.task.vae(), *clips, config().validation, nullptr).psnr));
}

TEST_F(VaeTraining, RefusesInvalidRecipes) {
  Json wrong = recipe_;
  wrong["phases"][0]["frames"] = 4;
  EXPECT_BAD_INPUT(VaeRecipe::from_json(wrong, "toy"), HasSubstr("1 + a multiple of 2"));
  wrong = recipe_;
  wrong["phases"][0]["width"] = 20;
  EXPECT_BAD_INPUT(VaeRecipe::from_json(wrong, "toy"), HasSubstr("does not divide"));
  wrong = recipe_;
  wrong["phases"] = Json::array();
  EXPECT_BAD_INPUT(VaeRecipe::from_json(wrong, "toy"), HasSubstr("phases is empty"));
  wrong = recipe_;
  wrong["optimizer"]["kind"] = "sgd";
  EXPECT_BAD_INPUT(VaeRecipe::from_json(wrong, "toy"), HasSubstr("kind"));
}

TEST(VaeLoss, IsZeroForEqualFramesAndGrowsWithErrors) {
  at::manual_seed(2);
  const at::Tensor clip = model::pixels_from_frames(moving_gradient(3, 32, 32, 0.7));
  EXPECT_NEAR(structure_loss(clip, clip).item<double>(), 0, 1e-5);
  const auto with_noise = [&](double size) {
    return structure_loss(clip + size * at::randn_like(clip), clip).item<double>();
  };
  EXPECT_GT(with_noise(0.05), 0.001);
  EXPECT_GT(with_noise(0.3), 2 * with_noise(0.05));
  const model::Vae::Posterior unit{at::zeros({1, 2, 1, 2, 2}), at::zeros({1, 2, 1, 2, 2})};
  EXPECT_EQ(kl_loss(unit).item<double>(), 0);
  EXPECT_EQ(reconstruction_loss(clip + 0.25, clip, {}).l1, 0.25);
  // A step of 0.5 between the left and the right columns.
  const at::Tensor edge = at::zeros({1, 3, 1, 4, 5});
  edge.narrow(4, 2, 3).fill_(0.5);
  EXPECT_NEAR(gradient_loss(edge).item<double>(), 0.5 / 4, 1e-6);
  EXPECT_NEAR((reconstruction_loss(edge, at::zeros_like(edge), {.gradient = 2}).total -
               reconstruction_loss(edge, at::zeros_like(edge), {}).total)
                  .item<double>(),
              0.25, 1e-6);
  const model::Vae::Posterior apart{at::ones({1, 2, 1, 2, 2}), at::zeros({1, 2, 1, 2, 2})};
  EXPECT_NEAR(kl_loss(apart).item<double>(), 0.5, 1e-6);
  EXPECT_NEAR(psnr(at::zeros({1, 8, 8, 3}, at::kByte), at::full({1, 8, 8, 3}, 255, at::kByte)), 0,
              1e-9);
}

TEST(VideoClips, DoNotDependOnWorkersAndOrder) {
  VideoClipsConfig config;
  config.width = 32;
  config.height = 32;
  config.workers = 0;
  const auto plain = open_video_clips(config, ClipSplit::kTraining, 3);
  config.workers = 2;
  const auto ahead = open_video_clips(config, ClipSplit::kTraining, 3);
  std::vector<at::Tensor> expected;
  for (uint64_t i = 0; i < 6; ++i) expected.push_back(plain->clip(i, 5).frames);
  for (const uint64_t i : {0, 1, 2, 3, 4, 5, 2, 3, 1}) {
    EXPECT_TRUE(at::equal(ahead->clip(i, 5).frames, expected[i])) << i;
  }
  EXPECT_EQ(ahead->clip(2, 9).frames.size(0), 9);
}

}  // namespace
}  // namespace loci::train
