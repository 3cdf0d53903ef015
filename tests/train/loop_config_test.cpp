// SPDX-License-Identifier: Apache-2.0
#include "loci/train/loop/loop_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/train/autoencoder/vae_recipe.h"
#include "loci/train/transformer/transformer_recipe.h"

#include "tests/base/expect_error.h"
#include "toy_clips.h"

namespace loci::train {
namespace {

using ::testing::HasSubstr;

LoopConfig read(const Json& json) {
  LoopConfig defaults;
  defaults.optimizer.learning_rates = {{ParameterGroup::kBackbone, 1e-3},
                                       {ParameterGroup::kCamera, 2e-3}};
  const ConfigReader reader(json, "recipe");
  const LoopConfig config = LoopConfig::from(reader, defaults);
  reader.finish();
  return config;
}

TEST(LoopConfig, PhasesAreSortedAndCountSamples) {
  const LoopConfig config = read(
      {{"batch", 4}, {"phases", {{{"from", 30}}, {{"from", 0}, {"batch", 2}}, {{"from", 10}}}}});
  ASSERT_EQ(config.phases.size(), 3u);
  EXPECT_EQ(config.phase(0), 0u);
  EXPECT_EQ(config.phase(9), 0u);
  EXPECT_EQ(config.phase(10), 1u);
  EXPECT_EQ(config.phase(1000), 2u);
  EXPECT_EQ(config.phases[0].batch, 2);
  EXPECT_EQ(config.phases[2].batch, 4);
  EXPECT_EQ(config.first_sample(0), 0u);
  EXPECT_EQ(config.first_sample(10), 20u);
  EXPECT_EQ(config.first_sample(12), 28u);
  EXPECT_EQ(config.first_sample(31), 20u + 80u + 4u);
}

TEST(LoopConfig, OneLearningRateOrOnePerGroup) {
  const auto rates = [](const Json& optimizer) {
    return read({{"optimizer", optimizer}, {"phases", {Json::object()}}}).optimizer.learning_rates;
  };
  using Rates = std::map<ParameterGroup, double>;
  EXPECT_EQ(rates(Json::object()),
            (Rates{{ParameterGroup::kBackbone, 1e-3}, {ParameterGroup::kCamera, 2e-3}}));
  EXPECT_EQ(rates({{"learning_rate", 0.1}}),
            (Rates{{ParameterGroup::kBackbone, 0.1}, {ParameterGroup::kCamera, 0.1}}));
  EXPECT_EQ(rates({{"learning_rate", 0.1}, {"learning_rates", {{"camera", 0.3}}}}),
            (Rates{{ParameterGroup::kBackbone, 0.1}, {ParameterGroup::kCamera, 0.3}}));
  EXPECT_BAD_INPUT(rates({{"learning_rates", {{"states", 0.3}}}}), HasSubstr("backbone, camera"));
}

TEST(LoopConfig, RefusesPhasesWithoutABeginning) {
  EXPECT_BAD_INPUT(read(Json::object()), HasSubstr("phases is empty"));
  EXPECT_BAD_INPUT(read({{"phases", {{{"from", 3}}}}}), HasSubstr("begins at update 3"));
}

// Both recipes read the shared keys alike, and neither accepts names that only one of them had.
TEST(LoopConfig, BothRecipesShareTheirKeys) {
  const Json shared = {{"updates", 7},
                       {"batch", 3},
                       {"seed", 5},
                       {"compute", "float32"},
                       {"ema", 0.5},
                       {"checkpoint_minutes", 2},
                       {"checkpoint_updates", 9},
                       {"keep_checkpoints", 4},
                       {"log_every", 6},
                       {"optimizer",
                        {{"kind", "muon"},
                         {"learning_rate", 0.25},
                         {"muon_learning_rate", 0.5},
                         {"warmup_updates", 8},
                         {"decay_updates", 11},
                         {"final_share", 0.125},
                         {"clip", 2}}}};
  Json transformer = toy_recipe("clips");
  Json autoencoder = {{"phases", {Json::object()}}};
  for (Json* recipe : {&transformer, &autoencoder}) {
    recipe->erase("optimizer");
    recipe->update(shared);
    (*recipe)["validation"]["every"] = 10;
  }
  for (const LoopConfig& config : {TransformerRecipe::from_json(transformer, "recipe").loop,
                                   VaeRecipe::from_json(autoencoder, "recipe").loop}) {
    EXPECT_EQ(config.updates, 7);
    EXPECT_EQ(config.phases.front().batch, 3);
    EXPECT_EQ(config.seed, 5u);
    EXPECT_EQ(config.compute, "float32");
    EXPECT_EQ(config.ema, 0.5);
    EXPECT_EQ(config.checkpoint_minutes, 2);
    EXPECT_EQ(config.checkpoint_updates, 9);
    EXPECT_EQ(config.keep_checkpoints, 4);
    EXPECT_EQ(config.log_every, 6);
    EXPECT_EQ(config.validation_every, 10);
    EXPECT_EQ(config.optimizer.kind, "muon");
    EXPECT_EQ(config.optimizer.learning_rates.at(ParameterGroup::kBackbone), 0.25);
    EXPECT_EQ(config.optimizer.muon_learning_rate, 0.5);
    EXPECT_EQ(config.optimizer.warmup_updates, 8);
    EXPECT_EQ(config.optimizer.decay_updates, 11);
    EXPECT_EQ(config.optimizer.final_share, 0.125);
    EXPECT_EQ(config.optimizer.clip, 2);
  }
  for (const char* key : {"checkpoint_every", "validate_every", "keep", "validation_clips"}) {
    Json wrong = autoencoder;
    wrong[key] = 2;
    SCOPED_TRACE(key);
    EXPECT_BAD_INPUT(VaeRecipe::from_json(wrong, "recipe"), HasSubstr("unknown key"));
    wrong = transformer;
    wrong[key] = 2;
    EXPECT_BAD_INPUT(TransformerRecipe::from_json(wrong, "recipe"), HasSubstr("unknown key"));
  }
}

}  // namespace
}  // namespace loci::train
