// SPDX-License-Identifier: Apache-2.0
#include "loci/model/autoencoder/vae_refiner.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "loci/model/autoencoder/vae.h"
#include "loci/model/autoencoder/vae_stream.h"

#include "tests/model/small_vae.h"

namespace loci::model {
namespace {

VaeConfig small_config() {
  VaeConfig config = small_vae_config();
  config.refiner_dim = 5;
  config.refiner_blocks = 1;
  return config;
}

// A refiner with random weights.
struct TrainedRefiner {
  Parameters parameters;
  Refiner refiner;

  explicit TrainedRefiner(const VaeConfig& config) : refiner(Scope(parameters, "refiner"), config) {
    refiner.conv_out.weight.normal_(0, 0.2);
    refiner.position.normal_(0, 0.2);
  }
};

class Refiners : public ::testing::Test {
 protected:
  Refiners() { at::manual_seed(3); }

  // Sets the parameters whose names contain `part` to random values.
  static void disturb(const Vae& vae, const std::string& part) {
    for (const Parameter& parameter : vae.parameters().all()) {
      if (parameter.name.find(part) != std::string::npos) parameter.tensor.normal_(0, 0.2);
    }
  }

  at::NoGradGuard no_grad_;
  Vae vae_{small_config(), {.seed = 1}};
  at::Tensor latents_ = at::randn({1, 6, 4, 2, 3});
};

TEST_F(Refiners, NewRefinersAddZero) {
  VaeConfig without = small_config();
  without.refiner_dim = 0;
  std::map<std::string, at::Tensor> tensors;
  disturb(vae_, "decoder.conv_out");
  for (const Parameter& parameter : vae_.parameters().all()) {
    if (!parameter.name.starts_with("decoder.refiner.")) tensors[parameter.name] = parameter.tensor;
  }
  const Vae plain = Vae::from_tensors(without, tensors, "plain");
  EXPECT_TRUE(vae_.decode(latents_).allclose(plain.decode(latents_), 0, 1e-6));
  disturb(vae_, "refiner.conv_out");
  EXPECT_FALSE(vae_.decode(latents_).allclose(plain.decode(latents_), 0, 1e-2));
}

TEST_F(Refiners, AClipInPartsEqualsTheWholeClip) {
  disturb(vae_, "conv_out");
  disturb(vae_, "refiner.position");
  for (const VaeTiling& tiling : {VaeTiling{}, VaeTiling{16, 8}}) {
    const VaeStreamOptions options{VaeState::kFull, tiling};
    const at::Tensor whole = VaeDecoder(vae_, options).decode(latents_);
    EXPECT_LT(
        (whole - vae_.decode(latents_, {nullptr, tiling}).clamp(-1, 1)).abs().max().item<double>(),
        1e-4);
    VaeDecoder decoder(vae_, options);
    EXPECT_TRUE(
        at::cat({decoder.decode(latents_.narrow(2, 0, 1)), decoder.decode(latents_.narrow(2, 1, 2)),
                 decoder.decode(latents_.narrow(2, 3, 1))},
                2)
            .equal(whole));
  }
}

TEST_F(Refiners, LargeFramesPassOneAtATime) {
  VaeConfig wide = small_config();
  wide.refiner_dim = 16;
  const TrainedRefiner trained(wide);
  // The activations of 16 channels exceed the limit for several frames at once.
  const at::Tensor patches = at::randn({5, 1, 4, 65'600, 12});
  VaeCache cache;
  const VaePass pass{&cache, {}, {}};
  const at::Tensor first = trained.refiner(patches.narrow(0, 0, 1), pass);
  cache.count(1);
  ASSERT_TRUE(pass.singly(patches.narrow(0, 1, 4), wide.refiner_dim));
  const at::Tensor rest = trained.refiner(patches.narrow(0, 1, 4), pass);
  EXPECT_TRUE(at::cat({first, rest}).allclose(trained.refiner(patches, {}), 0, 1e-4));
}

// For a picture of one colour, the correction repeats from block to block and varies within a
// block.
TEST_F(Refiners, DependOnThePositionInTheBlock) {
  const TrainedRefiner trained(small_config());
  const at::Tensor added = trained.refiner(at::zeros({13, 1, 16, 16, 12}), {});
  const auto part = [&](int64_t t, int64_t y, int64_t x) { return added[t][0][y][x]; };
  // Four convolutions away from borders and eight frames after the start of the clip.
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(part(9, 4 + i, 5).allclose(part(9, 8 + i, 9), 0, 1e-5));
    EXPECT_FALSE(part(9, 4 + i, 5).allclose(part(9, 8 + i, 10), 0, 1e-3));
  }
  EXPECT_FALSE(part(9, 5, 5).allclose(part(10, 5, 5), 0, 1e-3));
  EXPECT_FALSE(part(0, 5, 5).allclose(part(4, 5, 5), 0, 1e-3));
}

TEST_F(Refiners, AreIncludedInStateSizeAndReach) {
  VaeDecoder decoder(vae_);
  decoder.decode(latents_);
  EXPECT_EQ(decoder.cache().bytes(), 4 * decoder_state_size(vae_.config(), 16, 24));
  disturb(vae_, "decoder");
  const int64_t reach = decoder_reach(vae_.config());
  const at::Tensor latents = at::randn({1, 6, reach + 2, 1, 1});
  VaeDecoder all(vae_), late(vae_);
  all.decode(latents.narrow(2, 0, reach + 1));
  late.decode(latents.narrow(2, 1, reach));
  EXPECT_TRUE(all.decode(latents.narrow(2, reach + 1, 1))
                  .equal(late.decode(latents.narrow(2, reach + 1, 1))));
}

TEST_F(Refiners, SurviveSaveAndLoad) {
  const VaeConfig again = VaeConfig::from_json(vae_.config().to_json(), "file");
  EXPECT_EQ(again.refiner_dim, 5);
  EXPECT_EQ(again.refiner_blocks, 1);
}

}  // namespace
}  // namespace loci::model
