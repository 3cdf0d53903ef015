// SPDX-License-Identifier: Apache-2.0
#include "loci/model/autoencoder/block_transform.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/model/autoencoder/vae.h"
#include "loci/model/autoencoder/vae_stream.h"

#include "tests/base/expect_error.h"
#include "tests/model/small_vae.h"

namespace loci::model {
namespace {

using ::testing::HasSubstr;

class BlockTransforms : public ::testing::Test {
 protected:
  at::NoGradGuard no_grad_;
  at::Tensor video_ = at::rand({2, 3, 9, 16, 24}) * 2 - 1;
};

TEST_F(BlockTransforms, BlocksAndPixelsAreInverse) {
  const at::Tensor blocks = BlockTransform::blocks(video_.narrow(2, 1, 8), 4, 8);
  EXPECT_EQ(blocks.sizes().vec(), (std::vector<int64_t>{2, 2, 2, 3, 3 * 4 * 64}));
  EXPECT_TRUE(BlockTransform::pixels(blocks, 4, 8).equal(video_.narrow(2, 1, 8)));
  // Block (row 1, column 2) of the second group: green, third frame, row 5, column 6 in the block.
  const int64_t number = ((1 * 4 + 2) * 8 + 5) * 8 + 6;
  EXPECT_EQ(blocks[1][0][1][2][number].item<float>(),
            video_[0][1][1 + 4 + 2][13][22].item<float>());
}

TEST_F(BlockTransforms, ReplaceTheEncoder) {
  const Vae vae(small_vae_config());
  for (const Parameter& parameter : vae.parameters().all()) {
    const bool network = parameter.name.find("_transform.") == std::string::npos;
    EXPECT_FALSE(network && (parameter.name.starts_with("encoder.") ||
                             parameter.name.starts_with("quant_conv.")))
        << parameter.name;
  }
  const at::Tensor latents = vae.encode(video_).mean;
  EXPECT_EQ(latents.sizes().vec(), (std::vector<int64_t>{2, 6, 3, 2, 3}));
  // A new decoder adds zero to the inverse transform.
  const at::Tensor plain =
      vae.transform()->decode(latents.permute({2, 0, 3, 4, 1}).contiguous(), true);
  EXPECT_TRUE(vae.decode(latents).equal(plain));
  // The first latent depends on the first frame only, the others on four frames each.
  at::Tensor other = video_.clone();
  other.select(2, 6).zero_();
  const at::Tensor changed = (vae.encode(other).mean != latents).any(4).any(3).any(1).any(0);
  EXPECT_TRUE(changed.equal(at::tensor({0, 0, 1}).to(at::kBool)));
}

TEST_F(BlockTransforms, SurviveSaveAndLoad) {
  const Vae vae(small_vae_config(), {.seed = 3});
  const auto json = vae.config().to_json();
  EXPECT_TRUE(VaeConfig::from_json(json, "file").block_transform);
  std::map<std::string, at::Tensor> tensors;
  for (const Parameter& parameter : vae.parameters().all()) {
    tensors[parameter.name] = parameter.tensor;
  }
  const Vae again = Vae::from_tensors(VaeConfig::from_json(json, "file"), tensors, "file");
  EXPECT_TRUE(again.encode(video_).mean.equal(vae.encode(video_).mean));
}

TEST_F(BlockTransforms, AClipInPartsEqualsTheWholeClip) {
  const Vae vae(small_vae_config());
  // Random weights, so that the decoder network contributes, too.
  for (const Parameter& parameter : vae.parameters().all()) {
    if (parameter.name == "decoder.conv_out.weight") parameter.tensor.normal_(0, 0.1);
  }
  const at::Tensor latents = VaeEncoder(vae).encode(video_);
  VaeEncoder encoder(vae);
  EXPECT_TRUE(
      at::cat({encoder.encode(video_.narrow(2, 0, 5)), encoder.encode(video_.narrow(2, 5, 4))}, 2)
          .equal(latents));
  const at::Tensor whole = VaeDecoder(vae).decode(latents);
  VaeDecoder decoder(vae);
  EXPECT_TRUE(
      at::cat({decoder.decode(latents.narrow(2, 0, 2)), decoder.decode(latents.narrow(2, 2, 1))}, 2)
          .equal(whole));
  EXPECT_FALSE(
      whole.equal(vae.transform()->decode(latents.permute({2, 0, 3, 4, 1}).contiguous(), true)));
}

TEST_F(BlockTransforms, AnEncoderCorrectsTheLatents) {
  VaeConfig config = small_vae_config();
  const Vae plain(config, {.seed = 3});
  config.encoder_correction = true;
  const Vae vae(config, {.seed = 3});
  // Zero before training.
  EXPECT_TRUE(
      vae.encode(video_).mean.equal(vae.transform()->encode(video_, true).permute({1, 4, 0, 2, 3})));
  for (const Parameter& parameter : vae.parameters().all()) {
    if (parameter.name == "encoder.conv_out.weight") parameter.tensor.normal_(0, 0.1);
  }
  EXPECT_FALSE(
      vae.encode(video_).mean.equal(vae.transform()->encode(video_, true).permute({1, 4, 0, 2, 3})));
  EXPECT_GT(encoder_state_size(config, 16, 24), 0U);
  EXPECT_EQ(encoder_state_size(plain.config(), 16, 24), 0U);
  const at::Tensor whole = VaeEncoder(vae).encode(video_);
  VaeEncoder encoder(vae);
  EXPECT_TRUE(
      at::cat({encoder.encode(video_.narrow(2, 0, 5)), encoder.encode(video_.narrow(2, 5, 4))}, 2)
          .equal(whole));
  EXPECT_TRUE(VaeConfig::from_json(config.to_json(), "file").encoder_correction);
  config.block_transform = false;
  EXPECT_BAD_INPUT(VaeConfig::from_json(config.to_json(), "file"), HasSubstr("block_transform"));
}

}  // namespace
}  // namespace loci::model
