// SPDX-License-Identifier: Apache-2.0
#include "loci/train/autoencoder/vae_trainer.h"

#include <cmath>
#include <fstream>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/io/media/frames.h"
#include "loci/model/autoencoder/pixels.h"
#include "loci/model/autoencoder/vae_stream.h"
#include "loci/model/weights/weights.h"
#include "loci/train/loop/train_config.h"

#include "../base/expect_error.h"
#include "toy_clips.h"

namespace loci::train {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A coloured slope that moves, [frames, height, width, 3].
at::Tensor moving_slope(int64_t frames, int64_t height, int64_t width, double colour) {
  const at::Tensor t = at::arange(frames).view({-1, 1, 1, 1}) / 6.0;
  const at::Tensor y = at::arange(height).view({1, -1, 1, 1}) / 14.0;
  const at::Tensor x = at::arange(width).view({1, 1, -1, 1}) / 11.0;
  const at::Tensor c = at::arange(3) * colour;
  return (127.5 + 110 * at::sin(x + t + c) * at::cos(y + c)).round().to(at::kByte);
}

class VaeTraining : public ::testing::Test {
 protected:
  // 8x8 pixels and 2 frames a latent; videos of another size than what is trained on.
  VaeTraining() : folder_(fresh_folder("vae")) {
    fs::create_directories(folder_ / "videos/more");
    for (int i = 0; i < 3; ++i) {
      io::write_video(folder_ / fmt::format("videos/{}.mp4", i),
                      moving_slope(6, 40, 52, 0.4 + 0.5 * i));
    }
    io::write_frame_sequence(folder_ / "videos/more/pictures", moving_slope(5, 40, 52, 2.1));
    recipe_ = {{"model",
                {{"base_dim", 6},
                 {"decoder_base_dim", 8},
                 {"z_dim", 4},
                 {"dim_mult", {1, 2, 2}},
                 {"num_res_blocks", 1},
                 {"temperal_downsample", {true, false}},
                 {"patch_size", 2}}},
               {"data", {{"folder", (folder_ / "videos").string()}, {"width", 32}, {"height", 32}}},
               {"optimizer", {{"rate", 3e-3}, {"muon_rate", 0.02}, {"warmup", 2}}},
               {"phases",
                {{{"updates", 3}, {"frames", 1}, {"batch", 2}, {"width", 16}, {"height", 16}},
                 {{"updates", 3}, {"frames", 3}, {"batch", 1}}}},
               {"checkpoint_every", 3},
               {"validation_clips", 1},
               {"validation_frames", 5},
               {"seed", 4}};
  }
  ~VaeTraining() override { fs::remove_all(folder_); }

  VaeTrainConfig config() const { return VaeTrainConfig::from_json(recipe_, "toy"); }

  std::vector<double> losses(const std::string& run) const {
    std::vector<double> losses;
    std::ifstream file(folder_ / run / "metrics.jsonl");
    for (std::string line; std::getline(file, line);) {
      const Json json = Json::parse(line);
      if (json.contains("loss")) losses.push_back(json.at("loss").get<double>());
    }
    return losses;
  }

  fs::path folder_;
  Json recipe_;
  std::unique_ptr<Communicator> alone_ = make_single_communicator();
};

TEST_F(VaeTraining, LowersItsLossOnAFolderOfVideos) {
  for (const char* kind : {"adamw", "muon"}) {
    recipe_["optimizer"]["kind"] = kind;
    recipe_["phases"] = {{{"updates", 60}, {"frames", 3}, {"batch", 1}}};
    VaeTrainer trainer(config(), folder_ / kind, false, *alone_);
    std::vector<double> l1;
    for (int i = 0; i < 60; ++i) l1.push_back(trainer.update().l1);
    const auto mean = [&l1](size_t begin) {
      double sum = 0;
      for (size_t i = begin; i < begin + 10; ++i) sum += l1[i] / 10;
      return sum;
    };
    EXPECT_LT(mean(50), 0.8 * mean(0)) << kind;
    EXPECT_EQ(trainer.updates_done(), 60);
    const VaeScore score = trainer.validate(*trainer.averaged());
    EXPECT_GT(score.psnr, 10);
    EXPECT_EQ(score.mean.size(), 4u);
  }
}

class VaeResume : public VaeTraining, public ::testing::WithParamInterface<const char*> {};

TEST_P(VaeResume, GoesOnAsIfNothingHadHappened) {
  recipe_["optimizer"]["kind"] = GetParam();
  VaeTrainer(config(), folder_ / "run", false, *alone_).run();
  const std::vector<double> expected = losses("run");
  ASSERT_EQ(expected.size(), 6u);
  const std::string weights = "run/vae/diffusion_pytorch_model.safetensors";
  const std::string made = read_file(folder_ / weights);
  EXPECT_BAD_INPUT(VaeTrainer(config(), folder_ / "run", false, *alone_), HasSubstr("--resume"));

  // As after a crash in the second phase: only the checkpoint of update 3 is left.
  int removed = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "run")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("checkpoint-") && name.ends_with("6"))
      removed += fs::remove_all(entry) > 0;
  }
  ASSERT_EQ(removed, 1);
  fs::remove_all(folder_ / "run/vae");
  VaeTrainer resumed(config(), folder_ / "run", true, *alone_);
  EXPECT_EQ(resumed.updates_done(), 3);
  resumed.run();
  EXPECT_EQ(losses("run"), expected);
  EXPECT_EQ(read_file(folder_ / weights), made);

  // What is exported is a whole autoencoder with the statistics of its latents.
  const model::Vae vae = model::Vae::load(folder_ / "run/vae");
  const at::NoGradGuard no_grad;
  const at::Tensor latents =
      model::VaeEncoder(vae).encode(model::pixels_from_frames(moving_slope(5, 32, 32, 0.4)));
  EXPECT_LT(latents.abs().max().item<double>(), 50);
  EXPECT_NE(vae.config().latents_std, std::vector<double>(4, 1.0));
}

INSTANTIATE_TEST_SUITE_P(Optimizers, VaeResume, ::testing::Values("adamw", "muon"),
                         [](const auto& info) { return std::string(info.param); });

// A better decoder for latents that exist already.
TEST_F(VaeTraining, TheDecoderGoesOnAlone) {
  Json whole = recipe_;
  whole["start"] = (folder_ / "nothing").string();
  EXPECT_BAD_INPUT(VaeTrainConfig::from_json(whole, "recipe"), HasSubstr("drop model"));
  whole.erase("start");
  whole["decoder_only"] = true;
  EXPECT_BAD_INPUT(VaeTrainConfig::from_json(whole, "recipe"), HasSubstr("set start"));
  VaeTrainer(VaeTrainConfig::from_json(recipe_, "recipe"), folder_ / "first", false, *alone_).run();
  Json second = recipe_;
  second.erase("model");
  second["start"] = (folder_ / "first/vae").string();
  second["decoder_only"] = true;
  VaeTrainer(VaeTrainConfig::from_json(second, "recipe"), folder_ / "second", false, *alone_).run();
  const model::Vae before = model::Vae::load(folder_ / "first/vae");
  const model::Vae after = model::Vae::load(folder_ / "second/vae");
  const at::Tensor pixels = model::pixels_from_frames(moving_slope(5, 32, 32, 1));
  EXPECT_TRUE(at::equal(before.encode(pixels).mean, after.encode(pixels).mean));
  EXPECT_EQ(before.config().latents_mean, after.config().latents_mean);
  const at::Tensor latents = before.encode(pixels).mean;
  EXPECT_FALSE(at::equal(before.decode(latents), after.decode(latents)));
}

TEST_F(VaeTraining, ARefinerJoinsATrainedDecoder) {
  VaeTrainer(config(), folder_ / "first", false, *alone_).run();
  recipe_["compute"] = "float32";
  recipe_["refiner"] = {{"dim", 6}, {"blocks", 1}};
  EXPECT_BAD_INPUT(config(), HasSubstr("set model.refiner_dim"));
  recipe_.erase("model");
  recipe_["start"] = (folder_ / "first/vae").string();
  recipe_["decoder_only"] = true;
  const model::Vae before = model::Vae::load(folder_ / "first/vae");
  const at::Tensor pixels = model::pixels_from_frames(moving_slope(5, 32, 32, 1));
  const at::Tensor latents = before.encode(pixels).mean;
  VaeTrainer trainer(config(), folder_ / "second", false, *alone_);
  EXPECT_TRUE(trainer.vae().decode(latents).allclose(before.decode(latents), 0, 1e-6));
  trainer.run();
  const model::Vae after = model::Vae::load(folder_ / "second/vae");
  EXPECT_EQ(after.config().refiner_dim, 6);
  EXPECT_TRUE(after.encode(pixels).mean.equal(latents));
  EXPECT_FALSE(after.decode(latents).allclose(before.decode(latents), 0, 1e-4));
  const VaeTrainer resumed(config(), folder_ / "second", true, *alone_);
  EXPECT_TRUE(resumed.vae().encode(pixels).mean.equal(latents));
  recipe_["start"] = (folder_ / "second/vae").string();
  EXPECT_BAD_INPUT(config(), HasSubstr("drop refiner"));
}

// A decoder for latents as a world model makes them.
TEST_F(VaeTraining, TheDecoderLearnsFromAModelsGuesses) {
  VaeTrainer(config(), folder_ / "first", false, *alone_).run();
  const TrainConfig world = TrainConfig::from_json(toy_recipe(folder_), "toy");
  const model::Transformer transformer(world.model, std::make_shared<model::Parameters>());
  fs::create_directories(folder_ / "world");
  model::save_model(world.model, transformer.parameters().all(), folder_ / "world/transformer", {});
  fs::copy(folder_ / "first/vae", folder_ / "world/vae");
  Json recipe = recipe_;
  recipe.erase("model");
  recipe["start"] = (folder_ / "first/vae").string();
  recipe["guesser"] = (folder_ / "world").string();
  EXPECT_BAD_INPUT(VaeTrainConfig::from_json(recipe, "recipe"), HasSubstr("decoder_only"));
  recipe["decoder_only"] = true;
  EXPECT_BAD_INPUT(VaeTrainConfig::from_json(recipe, "recipe"), HasSubstr("drop data.folder"));
  recipe["data"].erase("folder");
  EXPECT_BAD_INPUT(VaeTrainConfig::from_json(recipe, "recipe"), HasSubstr("whole frames"));
  recipe["phases"] = {{{"updates", 2}, {"frames", 7}, {"batch", 1}}};
  EXPECT_BAD_INPUT(
      VaeTrainer(VaeTrainConfig::from_json(recipe, "r"), folder_ / "bad", false, *alone_),
      HasSubstr("choose e.g. 9"));
  recipe["phases"][0]["frames"] = 9;
  VaeTrainer(VaeTrainConfig::from_json(recipe, "recipe"), folder_ / "second", false, *alone_).run();
  EXPECT_THAT(read_file(folder_ / "second/metrics.jsonl"), HasSubstr("guessed_psnr"));

  const model::Vae before = model::Vae::load(folder_ / "first/vae");
  const model::Vae after = model::Vae::load(folder_ / "second/vae");
  const world::Clip clip =
      open_video_clips(VideoClipsConfig::from(ConfigReader(recipe["data"], "")),
                       ClipSplit::kTraining, 1)
          ->clip(0, 17);
  const at::NoGradGuard no_grad;
  const at::Tensor latents = before.encode(model::pixels_from_frames(clip.frames)).mean;
  EXPECT_FALSE(at::equal(before.decode(latents), after.decode(latents)));
  const LatentGuesser guesser(folder_ / "world", at::kFloat);
  const at::Tensor guess = guesser.guess(before, latents, clip, 5);
  EXPECT_TRUE(at::equal(guess, guesser.guess(before, latents, clip, 5)));
  const at::Tensor moved = (guess - latents).abs().amax({0, 1, 3, 4});  // [frames]
  EXPECT_LT(moved[0].item<double>(), 1e-4);
  EXPECT_GT(moved.max().item<double>(), 0.01);
  EXPECT_TRUE(moved.narrow(0, 1, 8).lt(1e-4).any().item<bool>());
}

// Without any network: principal components, exact where there are enough of them.
TEST_F(VaeTraining, ATransformIsFittedAndStays) {
  recipe_["model"]["block_transform"] = true;
  recipe_["model"]["z_dim"] = 24;
  recipe_["transform_clips"] = 12;
  recipe_["loss"] = {{"l1", 0.0}, {"l2", 1.0}};
  VaeTrainer trainer(config(), folder_ / "run", false, *alone_);
  const model::Vae& vae = trainer.vae();
  const at::Tensor pixels = model::pixels_from_frames(moving_slope(5, 32, 32, 0.9));
  const model::Vae::Posterior before = vae.encode(pixels);
  const auto error = [&] {
    const at::NoGradGuard no_grad;
    return (vae.decode(vae.encode(pixels).mean) - pixels).square().mean().item<double>();
  };
  // Slopes are smooth: 24 of 384 numbers are nearly all of them.
  EXPECT_LT(error(), 0.002);
  EXPECT_LT(before.mean.mean().abs().item<double>(), 0.5);
  // The strongest channel varies most, but not by as much as it does in the pixels.
  const at::Tensor strength = before.mean.transpose(0, 1).flatten(1).std(1);
  EXPECT_GT(strength[0].item<double>(), strength[23].item<double>());
  for (int i = 0; i < 3; ++i) trainer.update();
  EXPECT_TRUE(vae.encode(pixels).mean.equal(before.mean));
  trainer.run();
  VaeTrainer resumed(config(), folder_ / "run", true, *alone_);
  EXPECT_TRUE(resumed.vae().encode(pixels).mean.equal(before.mean));
  EXPECT_TRUE(model::Vae::load(folder_ / "run/vae").encode(pixels).mean.equal(before.mean));
}

TEST_F(VaeTraining, ChannelsJoinATransform) {
  recipe_["model"]["block_transform"] = true;
  recipe_["model"]["z_dim"] = 3;
  recipe_["transform_clips"] = 12;
  recipe_["phases"] = {{{"updates", 2}, {"frames", 5}, {"batch", 1}}};
  VaeTrainer(config(), folder_ / "few", false, *alone_).run();
  recipe_.erase("model");
  recipe_["start"] = (folder_ / "few/vae").string();
  recipe_["channels"] = 24;
  recipe_["transform_clips"] = 5;  // of another mean
  VaeTrainer trainer(config(), folder_ / "many", false, *alone_);
  const at::Tensor pixels = model::pixels_from_frames(moving_slope(5, 32, 32, 0.9));
  const auto encoded = [&](const model::Vae& vae) { return vae.encode(pixels).mean.detach(); };
  const auto decoded = [](const model::Vae& vae, const at::Tensor& latents) {
    return vae.decode(latents).detach().narrow(2, 1, 4);  // the first frame has its own map
  };
  const model::Vae few = model::Vae::load(folder_ / "few/vae");
  const at::Tensor before = encoded(few), after = encoded(trainer.vae());
  ASSERT_EQ(after.size(1), 24);
  EXPECT_TRUE(at::allclose(after.narrow(1, 0, 3), before, 1e-4, 1e-5));
  const auto error = [&](const at::Tensor& frames) {
    return (frames - pixels.narrow(2, 1, 4)).square().mean().item<double>();
  };
  EXPECT_LT(error(decoded(trainer.vae(), after)), 0.5 * error(decoded(few, before)));
  // What was decoded stays as it was where the new channels are silent.
  at::Tensor silent = at::zeros_like(after);
  silent.narrow(1, 0, 3).copy_(before);
  EXPECT_TRUE(at::allclose(decoded(trainer.vae(), silent), decoded(few, before), 1e-2, 2e-2));
  // Channels are scaled alike: those that join are weaker, and not by orders of magnitude.
  const at::Tensor strength = after.transpose(0, 1).flatten(1).std(1);
  EXPECT_LT(strength[3].item<double>(), strength[0].item<double>());
  EXPECT_GT(strength[3].item<double>(), 0.01 * strength[0].item<double>());
  trainer.run();
  EXPECT_TRUE(encoded(model::Vae::load(folder_ / "many/vae")).equal(after));
  EXPECT_TRUE(encoded(VaeTrainer(config(), folder_ / "many", true, *alone_).vae()).equal(after));
  recipe_["channels"] = 3;
  EXPECT_BAD_INPUT(config(), HasSubstr("channels"));
  recipe_["model"] = {{"block_transform", true}};
  recipe_.erase("start");
  EXPECT_BAD_INPUT(config(), HasSubstr("set model.z_dim"));
}

TEST_F(VaeTraining, RanksHaveClipsOfTheirOwn) {
  VideoClipsConfig worlds;
  worlds.width = worlds.height = 32;
  worlds.workers = 0;
  const auto all = open_video_clips(worlds, ClipSplit::kTraining, 3);
  const auto second = open_video_clips(worlds, ClipSplit::kTraining, 3, 1, 2);
  // Four clips share a world, and a rank.
  EXPECT_TRUE(second->clip(0, 5).frames.equal(all->clip(4, 5).frames));
  EXPECT_TRUE(second->clip(5, 5).frames.equal(all->clip(13, 5).frames));
  const std::string recipe = (folder_ / "recipe.json").string();
  recipe_["phases"] = {{{"updates", 3}, {"frames", 3}, {"batch", 2}}};
  recipe_["checkpoint_every"] = 2;
  recipe_["keep"] = 2;
  write_file(recipe, recipe_.dump());
  const auto run = [&](const std::string& options) {
    return std::system(fmt::format("'{}' --quiet train vae '{}' --out '{}' --ranks 2 {}",
                                   LOCI_BINARY, recipe, (folder_ / "two").string(), options)
                           .c_str());
  };
  ASSERT_EQ(run(""), 0);
  EXPECT_EQ(losses("two").size(), 3u);
  EXPECT_TRUE(fs::exists(folder_ / "two/vae/config.json"));
  // From the checkpoint before the last, the averaged weights become the same: those of both ranks.
  const fs::path weights = folder_ / "two/vae/diffusion_pytorch_model.safetensors";
  const std::string before = read_file(weights);
  ASSERT_GT(fs::remove_all(folder_ / "two/checkpoint-00000003"), 0u);
  ASSERT_EQ(run("--resume"), 0);
  EXPECT_TRUE(read_file(weights) == before);
  recipe_["phases"][0]["batch"] = 3;
  write_file(recipe, recipe_.dump());
  EXPECT_NE(run("--resume 2> /dev/null"), 0);  // three clips for two ranks
}

TEST_F(VaeTraining, ClipsOfAFolderAreFittedSplitAndRepeatable) {
  ::testing::internal::CaptureStderr();
  const VaeTrainConfig made = config();
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
  EXPECT_BAD_INPUT(VaeTrainer(config(), folder_ / "run", false, *alone_),
                   HasSubstr("holds no video"));
  recipe_["data"]["folder"] = (folder_ / "absent").string();
  EXPECT_BAD_INPUT(VaeTrainer(config(), folder_ / "run2", false, *alone_),
                   HasSubstr("not a folder"));
}

TEST_F(VaeTraining, WorksOnProceduralWorlds) {
  recipe_["data"] = {{"width", 32}, {"height", 32}};
  VaeTrainer trainer(config(), folder_ / "run", false, *alone_);
  EXPECT_TRUE(std::isfinite(trainer.update().total.item<double>()));
  EXPECT_TRUE(std::isfinite(trainer.validate(*trainer.averaged()).psnr));
}

TEST_F(VaeTraining, RefusesRecipesThatCannotWork) {
  Json wrong = recipe_;
  wrong["phases"][0]["frames"] = 4;
  EXPECT_BAD_INPUT(VaeTrainConfig::from_json(wrong, "toy"), HasSubstr("one frame more"));
  wrong = recipe_;
  wrong["phases"][0]["width"] = 20;
  EXPECT_BAD_INPUT(VaeTrainConfig::from_json(wrong, "toy"), HasSubstr("does not divide"));
  wrong = recipe_;
  wrong["phases"] = Json::array();
  EXPECT_BAD_INPUT(VaeTrainConfig::from_json(wrong, "toy"), HasSubstr("phases is empty"));
  wrong = recipe_;
  wrong["optimizer"]["kind"] = "sgd";
  EXPECT_BAD_INPUT(VaeTrainConfig::from_json(wrong, "toy"), HasSubstr("kind"));
}

TEST(VaeLoss, IsZeroForPerfectCopiesAndGrowsWithErrors) {
  at::manual_seed(2);
  const at::Tensor clip = model::pixels_from_frames(moving_slope(3, 32, 32, 0.7));
  EXPECT_NEAR(structure_loss(clip, clip).item<double>(), 0, 1e-5);
  const auto with_noise = [&](double size) {
    return structure_loss(clip + size * at::randn_like(clip), clip).item<double>();
  };
  EXPECT_GT(with_noise(0.05), 0.001);
  EXPECT_GT(with_noise(0.3), 2 * with_noise(0.05));
  const model::Vae::Posterior unit{at::zeros({1, 2, 1, 2, 2}), at::zeros({1, 2, 1, 2, 2})};
  EXPECT_EQ(vae_loss(clip, clip, unit, {}).kl, 0);
  EXPECT_EQ(vae_loss(clip + 0.25, clip, unit, {}).l1, 0.25);
  // A step of 0.5 between the columns of the left and those of the right half, and no other.
  const at::Tensor edge = at::zeros({1, 3, 1, 4, 5});
  edge.narrow(4, 2, 3).fill_(0.5);
  EXPECT_NEAR(gradient_loss(edge).item<double>(), 0.5 / 4, 1e-6);
  EXPECT_NEAR((vae_loss(edge, at::zeros_like(edge), unit, {.gradient = 2}).total -
               vae_loss(edge, at::zeros_like(edge), unit, {}).total)
                  .item<double>(),
              0.25, 1e-6);
  const model::Vae::Posterior apart{at::ones({1, 2, 1, 2, 2}), at::zeros({1, 2, 1, 2, 2})};
  EXPECT_NEAR(vae_loss(clip, clip, apart, {}).kl, 0.5, 1e-6);
  EXPECT_NEAR(psnr(at::zeros({1, 8, 8, 3}, at::kByte), at::full({1, 8, 8, 3}, 255, at::kByte)), 0,
              1e-9);
}

TEST(VideoClips, AreTheSameWhateverTheWorkersAndTheOrder) {
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
