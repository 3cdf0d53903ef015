// SPDX-License-Identifier: Apache-2.0
#include "loci/model/autoencoder/vae.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/model/autoencoder/vae_names.h"
#include "loci/model/autoencoder/vae_stream.h"

#include "../base/expect_error.h"
#include "golden_vae.h"
#include "tiny_model.h"

namespace loci::model {
namespace {

using loci::testing::relative_error;
using ::testing::AllOf;
using ::testing::HasSubstr;

void expect_same_parameters(const Vae& a, const Vae& b) {
  ASSERT_EQ(a.parameters().all().size(), b.parameters().all().size());
  for (size_t i = 0; i < a.parameters().all().size(); ++i) {
    EXPECT_EQ(a.parameters().all()[i].name, b.parameters().all()[i].name);
    EXPECT_TRUE(a.parameters().all()[i].tensor.equal(b.parameters().all()[i].tensor))
        << a.parameters().all()[i].name;
  }
}

TEST(Vae, EqualsTheOriginal) {
  const at::NoGradGuard no_grad;
  const GoldenVae golden;
  // Streamed, as in the original.
  EXPECT_LT(relative_error(golden.vae.denormalise(VaeEncoder(golden.vae).encode(golden.video)),
                           golden.latent),
            1e-4);
  VaeDecoder decoder(golden.vae);
  EXPECT_LT(relative_error(decoder.decode(golden.vae.normalise(golden.latent)),
                           golden.decoded.clamp(-1, 1)),
            1e-4);
  // Layer by layer over the whole clip, as in training.
  EXPECT_LT(relative_error(golden.vae.encode(golden.video).mean, golden.latent), 1e-4);
  EXPECT_LT(
      relative_error(golden.vae.decode(golden.latent).clamp(-1, 1), golden.decoded.clamp(-1, 1)),
      1e-4);
}

TEST(Vae, Bf16IsCloseToFp32) {
  const at::NoGradGuard no_grad;
  const GoldenVae golden(at::kBFloat16);
  const at::Tensor latent = golden.vae.encode(golden.video).mean;
  const at::Tensor video = golden.vae.decode(golden.latent);
  EXPECT_EQ(latent.scalar_type(), at::kFloat);
  EXPECT_EQ(video.scalar_type(), at::kFloat);
  // 8 bits of mantissa through about thirty layers.
  const auto deviation = [](const at::Tensor& got, const at::Tensor& expected) {
    return ((got - expected).square().mean().sqrt() / expected.std()).item<double>();
  };
  EXPECT_LT(deviation(latent, golden.latent), 0.03);
  EXPECT_LT(deviation(video, golden.decoded), 0.03);
}

TEST(Vae, PublishedSizes) {
  const VaeConfig config = VaeConfig::wan22();
  EXPECT_EQ(config.spatial_factor(), 16);
  EXPECT_EQ(config.temporal_factor(), 4);
  const Vae vae(config, {.device = at::kMeta});
  // 2.82 GB in FP32, like the published file.
  EXPECT_EQ(vae.parameters().count(), 704'688'668u);
}

TEST(Vae, LoadsOriginalAndDiffusersNames) {
  const at::NoGradGuard no_grad;
  const Vae diffusers = Vae::load(test_data("model/vae_diffusers"));
  EXPECT_EQ(diffusers.config().latents_std, (std::vector<double>{0.5, 2.0}));
  const Vae original = Vae::load(diffusers.config(), test_data("model/vae_original.pth"));
  expect_same_parameters(original, diffusers);
  const at::Tensor clip = at::rand({1, 3, 5, 24, 16}) * 2 - 1;
  EXPECT_TRUE(original.encode(clip).mean.equal(diffusers.encode(clip).mean));

  // Saved and loaded again.
  const TestFolder folder;
  diffusers.save(folder.path());
  const Vae again = Vae::load(folder.path());
  expect_same_parameters(again, diffusers);
  EXPECT_EQ(again.config().to_json(), diffusers.config().to_json());

  EXPECT_EQ(vae_name_from_wan("decoder.upsamples.1.upsamples.3.time_conv.bias"),
            "decoder.up_blocks.1.upsampler.time_conv.bias");
  EXPECT_EQ(vae_name_from_wan("encoder.mid_block.resnets.0.norm1.gamma"),
            "encoder.mid_block.resnets.0.norm1.gamma");
}

TEST(Vae, GradientsEqualFiniteDifferences) {
  const Vae vae = Vae::load(test_data("model/vae_diffusers"));
  vae.parameters().set_requires_grad(true);
  at::manual_seed(3);
  const at::Tensor clip = at::rand({1, 3, 3, 8, 8}) * 2 - 1;
  const at::Tensor pull = at::randn_like(clip);
  const auto loss = [&] { return (vae.decode(vae.encode(clip).mean) * pull).sum(); };
  loss().backward();
  const at::NoGradGuard no_grad;
  int checked = 0;
  for (const Parameter& parameter : vae.parameters().all()) {
    // This loss does not depend on the half of the convolution that computes the variance.
    ASSERT_TRUE(parameter.tensor.grad().defined()) << parameter.name;
    if (parameter.tensor.numel() < 16 || ++checked % 4 != 0) continue;
    const at::Tensor direction = at::randn_like(parameter.tensor);
    const double expected = (parameter.tensor.grad() * direction).sum().item<double>();
    constexpr double kStep = 1e-3;
    parameter.tensor.add_(direction, kStep);
    const auto above = loss().item<double>();
    parameter.tensor.add_(direction, -2 * kStep);
    const auto below = loss().item<double>();
    parameter.tensor.add_(direction, kStep);
    EXPECT_NEAR((above - below) / (2 * kStep), expected, 0.02 * std::abs(expected) + 0.3)
        << parameter.name;
  }
  EXPECT_GT(checked, 20);
}

TEST(Vae, RejectsInvalidInputs) {
  const GoldenVae golden;
  EXPECT_BAD_INPUT(golden.vae.encode(at::zeros({1, 4, 1, 32, 32})),
                   HasSubstr("pixels have 4 channels; expected 3 (RGB)"));
  EXPECT_BAD_INPUT(golden.vae.encode(at::zeros({1, 3, 1, 40, 32})),
                   AllOf(HasSubstr("32x40"), HasSubstr("use for example 32x32")));
  EXPECT_BAD_INPUT(golden.vae.encode(at::zeros({1, 3, 4, 32, 32})),
                   HasSubstr("4 frames cannot be encoded; expected 1 plus"));
  EXPECT_BAD_INPUT(golden.vae.decode(at::zeros({1, 48, 1, 2, 2})),
                   HasSubstr("latents have 48 channels; this autoencoder expects 6"));
  EXPECT_BAD_INPUT(Vae::load(VaeConfig::wan22(), golden.weights),
                   HasSubstr("does not fit the autoencoder's config"));
  const TestFolder folder;
  EXPECT_BAD_INPUT(Vae::load(folder.path()), HasSubstr("no config.json of an AutoencoderKLWan"));
  Json wrong = golden.config.to_json();
  wrong["is_residual"] = false;
  EXPECT_BAD_INPUT(VaeConfig::from_json(wrong, "x"), HasSubstr("Wan2.1"));
  wrong = golden.config.to_json();
  wrong["latents_mean"] = {1, 2};
  EXPECT_BAD_INPUT(VaeConfig::from_json(wrong, "x"), HasSubstr("latents_mean has 2 values"));
  wrong = golden.config.to_json();
  wrong["dim_mult"] = {1, 3, 4, 4};
  EXPECT_BAD_INPUT(VaeConfig::from_json(wrong, "x"), HasSubstr("dim_mult"));
}

}  // namespace
}  // namespace loci::model
