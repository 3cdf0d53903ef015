// SPDX-License-Identifier: Apache-2.0
#include "loci/train/transformer/recurrent_start.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/train/data/latent_folder.h"
#include "loci/train/transformer/transformer_recipe.h"
#include "loci/train/windows/window_pass.h"

#include "tests/base/expect_error.h"
#include "toy_clips.h"

namespace loci::train {
namespace {

// Effective number of directions of the second moments [128, 128]: 1 if all keys are parallel, 128
// if they are isotropic.
double effective_directions(const at::Tensor& moments) {
  return (moments.trace().square() / moments.square().sum()).item<double>();
}

TEST(RecurrentStart, WhiteningDecorrelatesKeys) {
  at::manual_seed(1);
  const at::Tensor common = at::randn({1, 128}, at::kDouble) * 5;
  const at::Tensor keys = common + at::randn({4096, 128}, at::kDouble);
  const at::Tensor moments = keys.t().mm(keys) / 4096;
  EXPECT_LT(effective_directions(moments), 1.2);
  const at::Tensor phi = whitening(moments.unsqueeze(0), 1e-3)[0];
  EXPECT_NEAR(phi.norm().item<double>(), std::sqrt(128.0), 1e-9);
  EXPECT_GT(effective_directions(phi.mm(moments).mm(phi.t())), 120);
  // If the eigenvalues are raised by far more than their size, the result is the identity.
  EXPECT_TRUE(
      at::allclose(whitening(moments.unsqueeze(0), 1e6)[0], at::eye(128, at::kDouble), 1e-3, 1e-3));
}

class RecurrentStartTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = write_toy_clips(fresh_folder("recurrent_start"), 4, 13);
    config_ = TransformerRecipe::from_json(toy_recipe(folder_), "toy");
    build();
  }
  void build() {
    parameters_ = std::make_shared<model::Parameters>();
    transformer_ = std::make_unique<model::Transformer>(config_.model, parameters_);
    captions_ = make_caption_encoder(config_.text, config_.model, *parameters_, {});
    const at::NoGradGuard no_grad;
    at::manual_seed(2);
    // As in a trained model, most of a block's input is the same for all tokens.
    for (const auto& [name, tensor] : parameters_->all()) {
      if (name == "blocks.1.scale_shift_table")
        tensor[0][0].copy_(3 * at::randn_like(tensor[0][0]));
      if (name == "blocks.1.attn1.to_k.weight") tensor.copy_(at::randn_like(tensor));
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  const at::Tensor& parameter(const std::string& name) const {
    for (const auto& [stored, tensor] : parameters_->all()) {
      if (stored == name) return tensor;
    }
    throw std::out_of_range(name);
  }

  // Measurements on a clean window: the mean of β, and the effective number of directions of the
  // keys of head 0.
  struct Measured {
    double beta = 0, directions = 0;
  };
  Measured measure() const {
    const at::NoGradGuard no_grad;
    const Window window = LatentFolder(folder_, 1).window(3, 13);
    WindowPlan clean;
    clean.noise.levels.assign(static_cast<size_t>(12 / config_.model.chunk_size), 0.01);
    clean.noise.weights.assign(clean.noise.levels.size(), 1);
    clean.chunks = model::window_chunks(13, config_.model.chunk_size);
    Measured result;
    PassOptions options;
    options.observers.on_recurrent = [&](int64_t layer, const model::RecurrentInputs& inputs) {
      EXPECT_EQ(layer, 1);
      result.beta = inputs.beta.mean().item<double>();
      const at::Tensor phi = parameter("blocks.1.kda.phi_k.weight").narrow(0, 0, 128).squeeze(-1);
      const at::Tensor keys = inputs.key[0].select(1, 0).matmul(phi.t());
      result.directions = effective_directions(keys.t().mm(keys));
    };
    run_window(*transformer_, assemble_window(window, config_.model, clean, 5),
               captions_->encode(window.caption), options);
    return result;
  }

  void start(double whiten, double write) const {
    start_recurrent({.whiten = whiten, .write = write}, *transformer_, *captions_,
                    LatentFolder(folder_, 1), 13, {}, 7);
  }

  std::filesystem::path folder_;
  TransformerRecipe config_;
  std::shared_ptr<model::Parameters> parameters_;
  std::unique_ptr<model::Transformer> transformer_;
  std::unique_ptr<CaptionEncoder> captions_;
};

TEST_F(RecurrentStartTest, DecorrelatesKeysAndLowersBeta) {
  const Measured before = measure();
  EXPECT_NEAR(before.beta, 1, 0.3);
  EXPECT_LT(before.directions, 1.5);
  start(0.01, 0.1);
  const Measured after = measure();
  EXPECT_NEAR(after.beta, 0.1, 0.05);
  EXPECT_GT(after.directions, 2 * before.directions);
}

// The measured start also holds if the model's own start is another one, and copies of a head are
// whitened alike.
TEST_F(RecurrentStartTest, AccountsForTheModelsStart) {
  config_.model.recurrent_memory = "ray_kda";
  config_.model.kda_start_beta = 0.02;
  config_.model.recurrent_heads_per_head = 2;
  build();
  start(0.01, 0.1);
  EXPECT_NEAR(measure().beta, 0.1, 0.05);
  const at::Tensor phi = parameter("blocks.1.kda.phi_k.weight");
  EXPECT_EQ(phi.size(0), 2 * 128 * config_.model.heads);
  EXPECT_TRUE(at::equal(phi.narrow(0, 0, 128), phi.narrow(0, 128, 128)));
}

TEST_F(RecurrentStartTest, ChangesOnlyTheParametersOfEnabledOptions) {
  const at::Tensor phi = parameter("blocks.1.kda.phi_q.weight").clone();
  const at::Tensor gate = parameter("blocks.1.kda.b_proj.weight").clone();
  start(0, 0.1);
  EXPECT_TRUE(parameter("blocks.1.kda.phi_q.weight").equal(phi));
  EXPECT_FALSE(parameter("blocks.1.kda.b_proj.weight").equal(gate));
  const at::Tensor written = parameter("blocks.1.kda.b_proj.weight").clone();
  start(0.1, 0);
  EXPECT_FALSE(parameter("blocks.1.kda.phi_q.weight").equal(phi));
  EXPECT_TRUE(parameter("blocks.1.kda.b_proj.weight").equal(written));
}

TEST_F(RecurrentStartTest, NeedsInputsWithACommonMean) {
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : parameters_->all()) {
    if (name.starts_with("condition_embedder.time_proj")) tensor.zero_();
    if (name != "blocks.1.scale_shift_table") continue;
    tensor[0][0].zero_();    // shift
    tensor[0][1].fill_(-1);  // 1 + scale = 0
  }
  EXPECT_BAD_INPUT(start(0, 0.1), ::testing::HasSubstr("block 1"));
}

TEST(RecurrentStart, IsReadFromARecipe) {
  Json recipe = toy_recipe("clips");
  EXPECT_FALSE(TransformerRecipe::from_json(recipe, "toy").recurrent_start.enabled());
  recipe["recurrent_start"] = {{"whiten", 0.1}, {"write", 0.2}};
  const RecurrentStartConfig start = TransformerRecipe::from_json(recipe, "toy").recurrent_start;
  EXPECT_EQ(start.whiten, 0.1);
  EXPECT_EQ(start.write, 0.2);
  recipe["recurrent_start"]["write"] = 2;
  EXPECT_BAD_INPUT(TransformerRecipe::from_json(recipe, "toy"), ::testing::HasSubstr("write"));
}

}  // namespace
}  // namespace loci::train
