// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "loci/train/autoencoder/adversary.h"
#include "loci/train/losses/adversarial_loss.h"
#include "loci/train/losses/clip_parts.h"

#include "../base/expect_error.h"
#include "toy_clips.h"

namespace loci::train {
namespace {

using ::testing::HasSubstr;

// Clips whose pixels are their own coordinates: value = 1000 b + 100 t + 10 y + x, in all colours.
at::Tensor coordinates(int64_t batch, int64_t frames, int64_t height, int64_t width) {
  const at::Tensor b = at::arange(batch).view({-1, 1, 1, 1, 1}) * 1000;
  const at::Tensor t = at::arange(frames).view({1, 1, -1, 1, 1}) * 100;
  const at::Tensor y = at::arange(height).view({1, 1, 1, -1, 1}) * 10;
  const at::Tensor x = at::arange(width).view({1, 1, 1, 1, -1});
  return (b + t + y + x).expand({batch, 3, frames, height, width}).to(at::kFloat);
}

TEST(ClipParts, AreStacksOfConsecutiveFramesWithoutOverlap) {
  const std::vector<uint64_t> keys = {5, 6};
  const at::Tensor clips = coordinates(2, 8, 9, 7);
  const ClipParts parts({.stack = 3, .crop = 4}, clips.sizes(), keys);
  const at::Tensor pictures = parts.of(clips);
  EXPECT_EQ(pictures.sizes().vec(), (std::vector<int64_t>{4, 9, 4, 4}));
  for (int64_t i = 0; i < 4; ++i) {
    const at::Tensor picture = pictures[i].unflatten(0, {3, 3});  // [colour, time, h, w]
    EXPECT_TRUE(picture[0].equal(picture[2]));
    EXPECT_TRUE((picture[0][1] - picture[0][0]).eq(100).all().item<bool>());
    EXPECT_TRUE((picture[0][2] - picture[0][1]).eq(100).all().item<bool>());
    EXPECT_EQ(static_cast<int64_t>(picture[0][0][0][0].item<double>()) / 1000, i / 2);
    EXPECT_EQ((picture[0][0][3][3] - picture[0][0][0][0]).item<double>(), 33);
  }
  const auto start = [&](int64_t i) {
    return static_cast<int64_t>(pictures[i][0][0][0].item<double>()) / 100 % 10;
  };
  EXPECT_EQ(std::abs(start(0) - start(1)), 3);
}

TEST(ClipParts, DependOnTheKeyOfTheClipOnly) {
  const at::Tensor clips = at::rand({3, 3, 6, 20, 20});
  const std::vector<uint64_t> keys = {1, 2, 3}, last = {3};
  const ClipPartsConfig config{.number = 2, .crop = 8};
  const at::Tensor all = ClipParts(config, clips.sizes(), keys).of(clips);
  EXPECT_EQ(all.size(0), 6);
  const at::Tensor one = clips.narrow(0, 2, 1);
  EXPECT_TRUE(ClipParts(config, one.sizes(), last).of(one).equal(all.narrow(0, 4, 2)));
  // More pictures or pixels than there are: everything.
  const ClipParts whole({.number = 50, .crop = 50}, one.sizes(), last);
  EXPECT_EQ(whole.of(one).sizes().vec(), (std::vector<int64_t>{6, 3, 20, 20}));
}

TEST(AdversarialLoss, HasTheSignsOfTheHinge) {
  const at::Tensor high = at::full({2, 1, 3, 3}, 3.0), low = -high, zero = at::zeros_like(high);
  // Beyond the margin, a right score costs nothing; a wrong one costs its distance to the margin.
  EXPECT_EQ(discriminator_loss(high, low).item<double>(), 0);
  EXPECT_EQ(discriminator_loss(zero, zero).item<double>(), 1);
  EXPECT_EQ(discriminator_loss(low, high).item<double>(), 4);
  EXPECT_EQ(adversarial_loss(high).item<double>(), -3);
  EXPECT_EQ(adversarial_loss(low).item<double>(), 3);
  EXPECT_NEAR(adaptive_factor(3, 0.5), 6, 1e-6);
  EXPECT_EQ(adaptive_factor(3, 0), 1e4);
}

AdversarialConfig small() {
  AdversarialConfig config;
  config.weight = 1;
  config.channels = 8;
  config.layers = 2;
  config.learning_rate = 1e-2;
  return config;
}

TEST(Discriminator, ScoresPatchesAndIsNormalised) {
  const AdversarialConfig config = small();
  Discriminator discriminator(config, 3);
  const at::Tensor pictures = at::rand({5, 9, 32, 24}) * 2 - 1;
  EXPECT_EQ(discriminator(pictures).sizes().vec(), (std::vector<int64_t>{5, 1, 8, 6}));
  // The scale of a weight does not matter, once the power iteration has converged.
  for (int i = 0; i < 300; ++i) discriminator.iterate();
  const at::Tensor before = discriminator(pictures);
  {
    const at::NoGradGuard no_grad;
    discriminator.parameters()[0].tensor.mul_(7);
  }
  for (int i = 0; i < 30; ++i) discriminator.iterate();
  EXPECT_LT((discriminator(pictures) - before).abs().max().item<double>(),
            0.02 * before.abs().max().item<double>());
  // The slope is bounded. A number is in up to four 4x4 windows of stride 2, or in nine 3x3
  // windows, so that the bound of a layer is the square root of that.
  const at::Tensor step = 1e-2 * at::randn_like(pictures);
  const double slope =
      ((discriminator(pictures + step) - discriminator(pictures)).norm() / step.norm())
          .item<double>();
  EXPECT_LT(slope, 2 * 2 * 3 * 3);
  EXPECT_GT(slope, 0);
}

class AdversaryTest : public ::testing::Test {
 protected:
  // Recorded clips have a fine pattern, decoded ones are flat.
  AdversaryTest() {
    at::manual_seed(1);
    recorded_ = (at::arange(32) % 2 * 2 - 1).to(at::kFloat).expand({2, 3, 4, 32, 32}) * 0.5;
    recorded_ = recorded_ + 0.05 * at::randn_like(recorded_);
    decoded_ = 0.05 * at::randn_like(recorded_);
  }

  std::unique_ptr<Communicator> alone_ = make_single_communicator();
  std::vector<uint64_t> keys_ = {1, 2};
  OptimizerConfig generator_;
  at::Tensor recorded_, decoded_;
};

TEST_F(AdversaryTest, LearnsToTellRecordedFromDecodedAndShowsTheWay) {
  Adversary adversary(small(), generator_, 5, at::kFloat, *alone_);
  EXPECT_TRUE(adversary.begun(0));
  const double first = adversary.update(0, decoded_, recorded_, keys_).discriminator;
  Adversary::Result last;
  for (int64_t i = 1; i < 60; ++i) last = adversary.update(i, decoded_, recorded_, keys_);
  EXPECT_GT(first, 0.5);
  EXPECT_LT(last.discriminator, 0.5 * first);
  EXPECT_GT(last.loss.item<double>(),
            0);  // decoded clips are recognised: their scores are negative
  EXPECT_EQ(last.gradient.sizes(), decoded_.sizes());
  // A step against the gradient adds the pattern that decoded clips lack.
  EXPECT_LT((last.gradient * recorded_).sum().item<double>(), 0);
  EXPECT_FALSE(decoded_.grad().defined());
}

TEST_F(AdversaryTest, ContinuesFromItsState) {
  AdversarialConfig config = small();
  config.from = 10;
  Adversary straight(config, generator_, 5, at::kFloat, *alone_);
  EXPECT_FALSE(straight.begun(9));
  for (int64_t i = 10; i < 13; ++i) straight.update(i, decoded_, recorded_, keys_);
  const std::filesystem::path folder = fresh_folder("adversary");
  std::filesystem::create_directories(folder);
  io::write_safetensors(folder / "state.safetensors", straight.state());
  const auto saved = io::SafetensorsFile::open(folder / "state.safetensors");
  Adversary resumed(config, generator_, 99, at::kFloat, *alone_);
  resumed.load_state(saved, "run");
  for (int64_t i = 13; i < 16; ++i) {
    const Adversary::Result a = straight.update(i, decoded_, recorded_, keys_);
    const Adversary::Result b = resumed.update(i, decoded_, recorded_, keys_);
    EXPECT_EQ(a.discriminator, b.discriminator);
    EXPECT_TRUE(a.gradient.equal(b.gradient));
  }
  config.channels = 5;
  Adversary wider(config, generator_, 5, at::kFloat, *alone_);
  EXPECT_BAD_INPUT(wider.load_state(saved, "run"),
                   HasSubstr("run has no 'discriminator.0.weight' of the right size"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace loci::train
