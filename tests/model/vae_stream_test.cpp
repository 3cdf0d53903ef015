// SPDX-License-Identifier: Apache-2.0
#include "loci/model/autoencoder/vae_stream.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "../base/expect_error.h"
#include "golden_vae.h"
#include "small_vae.h"

namespace loci::model {
namespace {

using ::testing::HasSubstr;

constexpr VaeTiling kTiles{32, 16};

// 48x80 pixels are not a multiple of tiles of 32 that overlap by 16.
class VaeStream : public ::testing::TestWithParam<VaeTiling> {
 protected:
  VaeStream() { at::manual_seed(1); }

  at::NoGradGuard no_grad_;
  GoldenVae golden_;
  VaeStreamOptions options_{VaeState::kFull, GetParam()};
  at::Tensor video_ = at::rand({1, 3, 21, 48, 80}) * 2 - 1;
  at::Tensor latents_ = at::randn({1, 6, 6, 3, 5});
};

TEST_P(VaeStream, AClipInPartsEqualsTheWholeClip) {
  const at::Tensor whole = VaeDecoder(golden_.vae, options_).decode(latents_);
  EXPECT_EQ(whole.sizes().vec(), (std::vector<int64_t>{1, 3, 21, 48, 80}));
  VaeDecoder decoder(golden_.vae, options_);
  std::vector<at::Tensor> parts;
  for (const auto& [begin, size] : {std::pair{0, 1}, {1, 1}, {2, 3}, {5, 1}}) {
    parts.push_back(decoder.decode(latents_.narrow(2, begin, size)));
  }
  EXPECT_TRUE(at::cat(parts, 2).equal(whole));
  EXPECT_EQ(decoder.cache().latents(), 6);

  const at::Tensor code = VaeEncoder(golden_.vae, options_).encode(video_);
  EXPECT_EQ(code.sizes().vec(), (std::vector<int64_t>{1, 6, 6, 3, 5}));
  VaeEncoder encoder(golden_.vae, options_);
  parts = {encoder.encode(video_.narrow(2, 0, 5)), encoder.encode(video_.narrow(2, 5, 4)),
           encoder.encode(video_.narrow(2, 9, 12))};
  EXPECT_TRUE(at::cat(parts, 2).equal(code));
}

TEST_P(VaeStream, EqualsTheNetworksOnTheWholeClip) {
  const VaePass tiled{nullptr, GetParam()};
  const at::Tensor decoded = golden_.vae.decode(golden_.vae.denormalise(latents_), tiled);
  EXPECT_LT(
      largest_difference(VaeDecoder(golden_.vae, options_).decode(latents_), decoded.clamp(-1, 1)),
      1e-4);
  const at::Tensor code = golden_.vae.normalise(golden_.vae.encode(video_, tiled).mean);
  EXPECT_LT(largest_difference(VaeEncoder(golden_.vae, options_).encode(video_), code), 1e-4);
}

TEST_P(VaeStream, TheStateDoesNotGrowAndSurvivesSaving) {
  VaeDecoder decoder(golden_.vae, options_);
  decoder.decode(latents_.narrow(2, 0, 3));
  const uint64_t bytes = decoder.cache().bytes();
  const VaeCache snapshot = decoder.cache();
  const at::Tensor next = decoder.decode(latents_.narrow(2, 3, 3));
  EXPECT_EQ(decoder.cache().bytes(), bytes);

  VaeDecoder again(golden_.vae, VaeCache::restore(snapshot.save()), GetParam());
  EXPECT_TRUE(again.decode(latents_.narrow(2, 3, 3)).equal(next));
  // Later calls do not change the snapshot.
  EXPECT_TRUE(
      VaeDecoder(golden_.vae, snapshot, GetParam()).decode(latents_.narrow(2, 3, 3)).equal(next));

  VaeEncoder encoder(golden_.vae, options_);
  encoder.encode(video_.narrow(2, 0, 9));
  VaeEncoder resumed(golden_.vae, VaeCache::restore(encoder.cache().save()), GetParam());
  EXPECT_TRUE(resumed.encode(video_.narrow(2, 9, 4)).equal(encoder.encode(video_.narrow(2, 9, 4))));
}

TEST_P(VaeStream, HalfPrecisionStateIsAccurate) {
  const VaeStreamOptions half{VaeState::kHalf, GetParam()};
  VaeDecoder full_decoder(golden_.vae, options_), half_decoder(golden_.vae, half);
  const at::Tensor exact = full_decoder.decode(latents_), rounded = half_decoder.decode(latents_);
  EXPECT_EQ(2 * half_decoder.cache().bytes(), full_decoder.cache().bytes());
  EXPECT_LT(largest_difference(rounded, exact), 0.01);  // a level of 8-bit pixels is 0.008
  VaeEncoder full_encoder(golden_.vae, options_), half_encoder(golden_.vae, half);
  const at::Tensor code = full_encoder.encode(video_);
  EXPECT_LT(largest_difference(half_encoder.encode(video_), code), 0.01);
  EXPECT_EQ(2 * half_encoder.cache().bytes(), full_encoder.cache().bytes());
}

INSTANTIATE_TEST_SUITE_P(Frames, VaeStream, ::testing::Values(VaeTiling{}, kTiles),
                         [](const auto& info) { return info.param.tile ? "Tiled" : "Whole"; });

TEST(VaeStreamState, HasTheComputedSize) {
  const at::NoGradGuard no_grad;
  const GoldenVae golden;
  VaeDecoder decoder(golden.vae);
  decoder.decode(at::zeros({1, 6, 2, 2, 4}));
  EXPECT_EQ(decoder.cache().bytes(), 4 * decoder_state_size(golden.config, 32, 64));
  VaeEncoder encoder(golden.vae);
  encoder.encode(golden.video.narrow(2, 0, 5));
  EXPECT_EQ(encoder.cache().bytes(), 4 * encoder_state_size(golden.config, 32, 64));
  EXPECT_FALSE(decoder.cache().half());
  // By default, Wan2.2 at 512x768 uses a state in half precision.
  EXPECT_GT(4 * decoder_state_size(VaeConfig::wan22(), 512, 768), kLargeVaeState);
}

TEST(VaeStreamState, PixelShuffleStreams) {
  const at::NoGradGuard no_grad;
  Json json = GoldenVae().config.to_json();
  json["upsample"] = "shuffle";
  const Vae vae(VaeConfig::from_json(json, "shuffle"), {.seed = 2});
  at::manual_seed(4);
  for (const Parameter& parameter : vae.parameters().all()) {
    if (parameter.name.ends_with("weight")) parameter.tensor.normal_(0, 0.1);
  }
  const at::Tensor latents = at::randn({1, 6, 4, 3, 5});
  for (const VaeTiling& tiling : {VaeTiling{}, kTiles}) {
    const VaeStreamOptions options{VaeState::kFull, tiling};
    const at::Tensor whole = VaeDecoder(vae, options).decode(latents);
    VaeDecoder decoder(vae, options);
    const at::Tensor parts = at::cat(
        {decoder.decode(latents.narrow(2, 0, 2)), decoder.decode(latents.narrow(2, 2, 2))}, 2);
    EXPECT_TRUE(parts.equal(whole));
    EXPECT_LT(largest_difference(
                  whole, vae.decode(vae.denormalise(latents), {nullptr, tiling}).clamp(-1, 1)),
              1e-4);
  }
}

// One, two or four frames per latent, divided at either level.
TEST(VaeStreamState, EveryTemporalFactorStreams) {
  const at::NoGradGuard no_grad;
  for (const auto& [first, second] :
       {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
    VaeConfig config = small_vae_config();
    config.block_transform = false;
    config.temporal_downsample = {first, second};
    const int64_t factor = (first ? 2 : 1) * (second ? 2 : 1);
    ASSERT_EQ(config.temporal_factor(), factor);
    const Vae vae(config, {.seed = 2});
    at::manual_seed(4);
    for (const Parameter& parameter : vae.parameters().all()) {
      if (parameter.name.ends_with("weight")) parameter.tensor.normal_(0, 0.1);
    }
    const at::Tensor video = at::rand({1, 3, 1 + 4 * factor, 16, 24}) * 2 - 1;
    const at::Tensor code = VaeEncoder(vae).encode(video);
    EXPECT_EQ(code.sizes().vec(), (std::vector<int64_t>{1, 6, 5, 2, 3}));
    const at::Tensor decoded = VaeDecoder(vae).decode(code);
    EXPECT_EQ(decoded.sizes(), video.sizes());
    VaeEncoder encoder(vae);
    VaeDecoder decoder(vae);
    std::vector<at::Tensor> codes, frames;
    for (int64_t latent = 0; latent < 5; ++latent) {
      const int64_t begin = latent == 0 ? 0 : 1 + (latent - 1) * factor;
      codes.push_back(encoder.encode(video.narrow(2, begin, latent == 0 ? 1 : factor)));
      frames.push_back(decoder.decode(codes.back()));
    }
    EXPECT_TRUE(at::cat(codes, 2).equal(code)) << factor;
    EXPECT_TRUE(at::cat(frames, 2).equal(decoded)) << factor;
  }
}

TEST(VaeStreamState, ADecoderStartedLateConvergesAfterItsReach) {
  const at::NoGradGuard no_grad;
  GoldenVae golden;
  const int64_t reach = decoder_reach(golden.config);
  at::manual_seed(5);
  const at::Tensor latents = at::randn({1, 6, reach + 3, 2, 2});
  VaeDecoder all(golden.vae), late(golden.vae), later(golden.vae);
  all.decode(latents.narrow(2, 0, reach + 1));
  late.decode(latents.narrow(2, 1, reach));
  later.decode(latents.narrow(2, reach / 2 + 1, reach - reach / 2));
  const at::Tensor wanted = all.decode(latents.narrow(2, reach + 1, 2));
  EXPECT_TRUE(late.decode(latents.narrow(2, reach + 1, 2)).equal(wanted));
  EXPECT_FALSE(later.decode(latents.narrow(2, reach + 1, 2)).equal(wanted));
  EXPECT_GT(decoder_reach(VaeConfig::wan22()), reach / 2);
}

TEST(VaeStreamState, RejectsForeignStates) {
  const at::NoGradGuard no_grad;
  const GoldenVae golden;
  VaeDecoder decoder(golden.vae);
  decoder.decode(at::zeros({1, 6, 2, 2, 4}));
  EXPECT_BAD_INPUT(decoder.decode(at::zeros({1, 6, 1, 2, 2})),
                   HasSubstr("belongs to another model, frame size or tiling"));
  EXPECT_BAD_INPUT(
      VaeDecoder(golden.vae, decoder.cache(), kTiles).decode(at::zeros({1, 6, 1, 4, 8})),
      HasSubstr("belongs to another model"));
  EXPECT_BAD_INPUT(VaeCache::restore({}), HasSubstr("lacks the integer"));
  EXPECT_BAD_INPUT(VaeDecoder(golden.vae).decode(at::zeros({1, 6, 0, 2, 2})),
                   HasSubstr("no latents"));
  EXPECT_BAD_INPUT(VaeEncoder(golden.vae).encode(at::zeros({1, 3, 3, 32, 32})),
                   HasSubstr("frames cannot be encoded"));
}

}  // namespace
}  // namespace loci::model
