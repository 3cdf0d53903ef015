// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/train/losses/window_loss.h"
#include "loci/train/windows/channel_weights.h"
#include "loci/train/windows/history_access.h"
#include "loci/train/windows/latent_folder.h"
#include "loci/train/windows/noise_levels.h"

#include "tests/base/expect_error.h"
#include "toy_clips.h"

namespace loci::train {
namespace {

using ::testing::HasSubstr;

TEST(LatentFolder, WindowsAreTheSameWhoeverAsks) {
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

TEST(LatentFolder, AWindowStartsWithAnImagesLatent) {
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

TEST(LatentFolder, RefusesWhatItCannotUse) {
  const auto folder = fresh_folder("refuses");
  EXPECT_THROW(LatentFolder(folder, 0), Error);             // empty
  EXPECT_THROW(LatentFolder(folder / "absent", 0), Error);  // not there
  write_toy_clips(folder, 1, 6);
  EXPECT_THROW(LatentFolder(folder, 0).window(0, 7), Error);  // shorter than the window
  write_file(folder / ".a.loci-12345678.safetensors", "left by a process that was killed");
  EXPECT_EQ(LatentFolder(folder, 0).clips(), 1U);
  std::filesystem::remove_all(folder);
}

TEST(NoiseLevels, FollowTheirDistribution) {
  NoiseConfig config;
  config.shift = 5;
  Random random(1);
  double sum = 0;
  for (int i = 0; i < 4000; ++i) {
    for (const double level : draw_chunk_noise(config, 4, random).levels) {
      ASSERT_GT(level, 0);
      ASSERT_LE(level, 1);
      sum += level;
    }
  }
  // The mean of 5s/(1+4s) over uniform s is 5/4 (1 - ln 5 / 4).
  EXPECT_NEAR(sum / 16000, 1.25 * (1 - std::log(5.0) / 4), 0.01);
}

TEST(NoiseLevels, ThePastIsCleanerInItsShareOfWindows) {
  NoiseConfig config;
  config.shift = 1;
  config.clean_share = 1;
  config.clean_factor = 0.2;
  Random random(2);
  double first = 0, last = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::vector<double> levels = draw_chunk_noise(config, 4, random).levels;
    first += levels.front();
    last += levels.back();
  }
  EXPECT_NEAR(last / 4000, 0.5, 0.02);
  EXPECT_NEAR(first / 4000, 0.25 * 0.5 + 0.75 * 0.1, 0.02);
}

TEST(NoiseLevels, ChunksAreThePastOfOthersByThemselvesOrAsTold) {
  NoiseConfig config;
  config.shift = 1;
  config.past_share = 0.75;
  config.clean_factor = 0.1;
  Random random(3);
  double sum = 0;
  for (int i = 0; i < 4000; ++i) {
    for (const double level : draw_chunk_noise(config, 3, random).levels) sum += level;
  }
  EXPECT_NEAR(sum / 12000, 0.25 * 0.5 + 0.75 * 0.05, 0.01);
  config.past_weight = 0.5;
  config.past_share = 1;
  EXPECT_EQ(draw_chunk_noise(config, 2, random).weights, (std::vector<double>{0.5, 0.5}));
  for (int i = 0; i < 100; ++i) {
    const ChunkNoise noise = draw_chunk_noise(config, 2, random, {true, false});
    EXPECT_LE(noise.levels[0], 0.1);
    EXPECT_EQ(noise.weights, (std::vector<double>{0, 1}));
  }
}

TEST(NoiseLevels, AShareOfPresentsIsNoiseAlone) {
  NoiseConfig config;
  config.past_copies = true;
  config.clean_factor = 0.1;
  config.full_share = 0.7;
  Random random{4};
  int full = 0;
  for (int i = 0; i < 4000; ++i) {
    const ChunkNoise noise = draw_chunk_noise(config, 3, random);
    for (const double level : noise.levels) full += level == 1 ? 1 : 0;
    for (const double level : noise.past_levels) EXPECT_LE(level, 0.1);
  }
  EXPECT_NEAR(full / 12000.0, 0.7, 0.02);
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
  // Frame 0 does not count in the loss.
  at::Tensor velocity = batch.target.clone();
  velocity.select(2, 0).fill_(100);
  velocity.select(2, 1).add_(2);
  const at::Tensor losses = chunk_losses(velocity, batch.target, 2);
  EXPECT_TRUE(at::allclose(losses, at::tensor({2.0, 0.0}, at::kFloat).unsqueeze(0)));
  const at::Tensor weighed =
      chunk_losses(velocity, batch.target, 2, {.channel_weights = at::tensor({0.5}, at::kFloat)});
  EXPECT_TRUE(at::allclose(weighed, losses * 0.5));
  // Frame 1 is off by 4 and frame 2 by nothing: 0.5 log(1 + 4 / 0.5), halved by the chunk's mean.
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

// One of two ranks: gives `other` for what the second one would have brought, and keeps its own.
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

TEST(ChannelWeights, FollowWhatTheDecoderMakesOfAChannel) {
  const model::VaeConfig config = toy_vae(3);
  const model::Vae vae(config);
  // The decoder is deaf to channel 0 and hears channel 1 doubly.
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

TEST(ChannelWeights, RanksShareTheChannels) {
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

TEST(HistoryAccess, BoundsWhatAChunkSees) {
  std::vector<camera::Camera> cameras(41);
  for (int i = 0; i < 41; ++i) {
    cameras[i].pose.rotation = camera::rotation_from_angles(0.2 * i, 0);
  }
  HistoryAccessConfig bounded;
  bounded.bounded_share = 1;
  bounded.bank_frames = {4};
  bounded.recent_frames = {2};
  Random random(1);
  const auto chunks = draw_history_access(bounded, 5, 3, cameras, 1.5, random);
  ASSERT_EQ(chunks.size(), 9u);
  const model::ChunkSpan& last = chunks.back();
  EXPECT_EQ(last.earlier.size(), 7u);  // frame 0, four of the bank, two recent
  EXPECT_EQ(last.earlier.front(), 0);
  EXPECT_EQ(last.earlier.back(), 35);
  ASSERT_TRUE(last.rotation.has_value());
  EXPECT_EQ(last.rotation->cosine.size(0), 21);  // three tokens per frame
  // Keys of a whole past keep their times.
  HistoryAccessConfig whole;
  for (const model::ChunkSpan& chunk : draw_history_access(whole, 5, 3, cameras, 1.5, random)) {
    EXPECT_EQ(std::ssize(chunk.earlier), chunk.begin);
    EXPECT_FALSE(chunk.rotation.has_value());
  }
}

// Frame 0 and every tenth frame.
class EveryTenth : public memory::HistoryPolicy {
 public:
  std::string_view name() const override { return "every_tenth"; }
  int64_t frame_budget() const override { return 100; }
  void commit(const memory::HistoryFrame& frame) override {
    if (frame.index % 10 == 0) frames_.push_back({frame, memory::FrameRole::kBank});
  }
  std::vector<int64_t> select(std::span<const memory::HistoryFrame>) const override {
    return retained();
  }
  std::vector<int64_t> retained() const override {
    std::vector<int64_t> all;
    for (const memory::RetainedFrame& each : frames_) all.push_back(each.frame.index);
    return all;
  }
  std::unique_ptr<memory::HistoryPolicy> clone() const override {
    return std::make_unique<EveryTenth>(*this);
  }
  std::vector<memory::RetainedFrame> save() const override { return frames_; }
  void restore(std::vector<memory::RetainedFrame> frames) override { frames_ = std::move(frames); }

 private:
  std::vector<memory::RetainedFrame> frames_;
};

TEST(HistoryAccess, TakesRegisteredPolicies) {
  memory::register_history({"every_tenth", "every tenth frame", [](const memory::HistoryOptions&) {
                              return std::make_unique<EveryTenth>();
                            }});
  const ConfigReader reader(
      Json{{"bounded_share", 1.0}, {"kinds", {"every_tenth"}}, {"recent_frames", {2}}}, "recipe");
  const HistoryAccessConfig config = HistoryAccessConfig::from(reader);
  const std::vector<camera::Camera> cameras(41);
  Random random(1);
  const auto chunks = draw_history_access(config, 5, 3, cameras, 1.5, random);
  EXPECT_THAT(chunks.back().earlier, ::testing::ElementsAre(0, 10, 20, 30));
  EXPECT_TRUE(chunks.back().rotation.has_value());
}

TEST(HistoryAccess, RejectsPoliciesThatCannotBeUsed) {
  const auto read = [](const Json& json) {
    return HistoryAccessConfig::from(ConfigReader(json, "recipe"));
  };
  EXPECT_BAD_INPUT(read({{"kinds", {"lru"}}}),
                   HasSubstr("recipe: kinds: unknown history policy 'lru'; choose one of: dense"));
  EXPECT_BAD_INPUT(read({{"kinds", {"content"}}}), HasSubstr("choose a policy that selects by"));
  // The bank of one of the combinations is too small.
  EXPECT_BAD_INPUT(read({{"kinds", {"pinned"}}, {"bank_frames", {20, 9}}}),
                   HasSubstr("10 anchor frames and has a bank of 9"));
  EXPECT_BAD_INPUT(read({{"bank_frames", {-1}}}), HasSubstr("bank_frames has -1"));
}

}  // namespace
}  // namespace loci::train
