// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/train/data/latent_folder.h"
#include "loci/train/losses/channel_weights.h"
#include "loci/train/losses/window_loss.h"

#include "tests/base/damage.h"
#include "tests/base/expect_error.h"
#include "toy_clips.h"

namespace loci::train {
namespace {

TEST(LatentFolder, AWindowDependsOnSeedAndIndexOnly) {
  const auto folder = write_toy_clips(fresh_folder("windows"), 5, 21);
  const LatentFolder a(folder, 1);
  const LatentFolder b(folder, 1);
  const Window first = a.window(17, 11);
  a.window(3, 11);
  const Window again = b.window(17, 11);
  EXPECT_TRUE(first.latents.equal(again.latents));
  EXPECT_EQ(first.cameras, again.cameras);
  EXPECT_EQ(first.latents.sizes().vec(), (std::vector<int64_t>{4, 11, 4, 4}));
  EXPECT_EQ(first.caption, "a toy");
  // Another index or seed gives another window.
  EXPECT_FALSE(first.latents.equal(a.window(18, 11).latents));
  EXPECT_FALSE(first.latents.equal(LatentFolder(folder, 2).window(17, 11).latents));
  std::filesystem::remove_all(folder);
}

TEST(LatentFolder, FrameZeroIsTheLatentOfAnImage) {
  const auto folder = fresh_folder("images");
  LatentClip clip;
  clip.latents = at::zeros({1, 6, 2, 2});
  clip.images = at::ones({1, 6, 2, 2});
  clip.cameras.resize(6);
  write_latent_clip(folder / "a.safetensors", clip);
  const Window window = LatentFolder(folder, 0).window(0, 3);
  EXPECT_EQ(window.latents.select(1, 0).min().item<float>(), 1);
  EXPECT_EQ(window.latents.narrow(1, 1, 2).abs().max().item<float>(), 0);
  std::filesystem::remove_all(folder);
}

TEST(LatentFolder, RefusesEmptyFoldersAndShortClips) {
  const auto folder = fresh_folder("refuses");
  EXPECT_THROW(LatentFolder(folder, 0), Error);             // empty
  EXPECT_THROW(LatentFolder(folder / "absent", 0), Error);  // does not exist
  write_toy_clips(folder, 1, 6);
  EXPECT_THROW(LatentFolder(folder, 0).window(0, 7), Error);  // shorter than the window
  write_file(folder / ".a.loci-12345678.safetensors", "left by a process that was killed");
  EXPECT_EQ(LatentFolder(folder, 0).clips(), 1U);
  std::filesystem::remove_all(folder);
}

TEST(LatentFolder, NamesTheClipWithNanOrInfiniteValues) {
  const auto folder = fresh_folder("finite");
  LatentClip clip;
  clip.latents = at::zeros({2, 6, 2, 2});
  clip.images = at::zeros({2, 6, 2, 2});
  clip.cameras.resize(6);
  const auto refused = [&](const LatentClip& broken, const auto& matcher) {
    write_latent_clip(folder / "a.safetensors", broken);
    EXPECT_BAD_INPUT(LatentFolder(folder, 0).window(0, 6), matcher);
  };
  LatentClip broken = clip;
  broken.latents = clip.latents.clone();
  broken.latents[1][4][0][1] = std::nan("");
  refused(broken, ::testing::AllOf(::testing::HasSubstr("a.safetensors: latents of latent frame 4"),
                                   ::testing::HasSubstr("encode the clip again")));
  broken = clip;
  broken.images = clip.images.clone();
  broken.images[0][0][1][1] = std::numeric_limits<double>::infinity();
  refused(broken, ::testing::HasSubstr("a.safetensors: images of latent frame 0"));
  broken = clip;
  broken.cameras[3].pose.position.y = std::nan("");
  refused(broken, ::testing::HasSubstr("a.safetensors: a camera has NaN"));
  std::filesystem::remove_all(folder);
}

TEST(LatentFolder, RefusesAClipThatIsModifiedDuringTheRun) {
  const auto folder = write_toy_clips(fresh_folder("modified"), 1, 13);
  const auto file = std::filesystem::directory_iterator(folder)->path();
  for (const auto& change : {testing::overwrite_in_place, testing::truncate_to_nothing}) {
    write_toy_clips(folder, 1, 13);
    testing::make_old(file);
    const LatentFolder clips(folder, 1);
    clips.window(0, 7);
    change(file);
    EXPECT_BAD_INPUT(clips.window(0, 7), ::testing::HasSubstr(file.string()));
  }
  std::filesystem::remove_all(folder);
}

TEST(NoiseWindows, MixesCleanAndNoise) {
  const at::Tensor clean = at::full({1, 1, 5, 1, 1}, 2.0);
  const at::Tensor noise = at::full({1, 1, 5, 1, 1}, -1.0);
  const NoisedBatch batch = noise_windows(clean, {{0.25, 1.0}}, noise, 2);
  const at::Tensor expected = at::tensor({2.0, 1.25, 1.25, -1.0, -1.0}, at::kFloat);
  EXPECT_TRUE(at::allclose(batch.latents.flatten(), expected));
  EXPECT_TRUE(at::allclose(batch.timesteps.flatten(),
                           at::tensor({0.0, 250.0, 250.0, 1000.0, 1000.0}, at::kFloat)));
  EXPECT_TRUE(at::allclose(batch.target, at::full({1, 1, 5, 1, 1}, -3.0)));
  // Frame 0 has no loss.
  at::Tensor velocity = batch.target.clone();
  velocity.select(2, 0).fill_(100);
  velocity.select(2, 1).add_(2);
  const at::Tensor losses = chunk_losses(velocity, batch.target, 2);
  EXPECT_TRUE(at::allclose(losses, at::tensor({2.0, 0.0}, at::kFloat).unsqueeze(0)));
  const at::Tensor weighted =
      chunk_losses(velocity, batch.target, 2, {.channel_weights = at::tensor({0.5}, at::kFloat)});
  EXPECT_TRUE(at::allclose(weighted, losses * 0.5));
  // The errors of frames 1 and 2 are 4 and 0: 0.5 log(1 + 4 / 0.5), halved by the mean.
  const at::Tensor by_log = chunk_losses(velocity, batch.target, 2, {.log_above = 0.5});
  EXPECT_NEAR(by_log[0][0].item<double>(), 0.25 * std::log(9.0), 1e-6);
  EXPECT_EQ(by_log[0][1].item<double>(), 0);
}

class Noise : public WindowSource {
 public:
  explicit Noise(int64_t channels) : channels_(channels) {}
  Window window(uint64_t index, int64_t frames) const override {
    Window window;
    window.latents = at::sin(at::arange(channels_ * frames * 4 * 4, at::kFloat) * (1.7 + index))
                         .view({channels_, frames, 4, 4});
    return window;
  }
  std::vector<std::string> captions() const override { return {}; }

 private:
  int64_t channels_;
};

// One of two ranks: takes `other` as the contribution of the other rank and keeps its own in `own`.
class OneOfTwo : public Communicator {
 public:
  OneOfTwo(int rank, at::Tensor other) : rank_(rank), other_(std::move(other)) {}
  int rank() const override { return rank_; }
  int size() const override { return 2; }
  std::function<void()> start_all_reduce_mean(at::Tensor tensor) override {
    own = tensor.clone();
    return [this, tensor] { at::Tensor(tensor).add_(other_).div_(2); };
  }
  void broadcast(at::Tensor /*tensor*/, int /*root*/) override {}

  at::Tensor own;

 private:
  int rank_;
  at::Tensor other_;
};

TEST(ChannelWeights, FollowTheEffectOfAChannelOnTheDecodedFrames) {
  const model::VaeConfig config = toy_vae(3);
  const model::Vae vae(config);
  // Channel 0 has no effect on the decoder, channel 1 twice its effect.
  for (const auto& [name, tensor] : vae.parameters().all()) {
    if (name != "post_quant_conv.weight") continue;
    const at::NoGradGuard no_grad;
    tensor.select(1, 0).zero_();
    tensor.select(1, 1).mul_(2);
  }
  const Noise source(config.z_dim);
  const auto alone = make_single_communicator();
  const at::Tensor weights = decoder_channel_weights(vae, source, 1, *alone);
  EXPECT_EQ(weights.size(0), config.z_dim);
  EXPECT_NEAR(weights.mean().item<double>(), 1, 1e-5);
  EXPECT_EQ(weights[0].item<double>(), 0);
  EXPECT_GT(weights[1].item<double>(), 1);
  EXPECT_TRUE(at::equal(weights, decoder_channel_weights(vae, source, 1, *alone)));
  EXPECT_TRUE(
      at::allclose(decoder_channel_weights(vae, source, 0, *alone), at::ones_like(weights)));
  EXPECT_THROW(decoder_channel_weights(vae, Noise(config.z_dim + 1), 1, *alone), Error);
}

TEST(ChannelWeights, AreMeasuredByAllRanks) {
  const model::VaeConfig config = toy_vae(3);
  const model::Vae vae(config);
  const Noise source(config.z_dim);
  OneOfTwo first(0, at::zeros({config.z_dim}));
  decoder_channel_weights(vae, source, 1, first);
  EXPECT_EQ(first.own.count_nonzero().item<int64_t>(), (config.z_dim + 1) / 2);
  OneOfTwo second(1, first.own);
  const at::Tensor shared = decoder_channel_weights(vae, source, 1, second);
  EXPECT_EQ(second.own.count_nonzero().item<int64_t>(), config.z_dim / 2);
  EXPECT_TRUE(
      at::equal(shared, decoder_channel_weights(vae, source, 1, *make_single_communicator())));
}

}  // namespace
}  // namespace loci::train
