// SPDX-License-Identifier: Apache-2.0
// Parts of a transformer recipe: captions, initial weights, teachers, validation, export.
#include <cmath>
#include <fstream>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/camera/lens.h"
#include "loci/model/text/text_prompts.h"
#include "loci/model/weights/weights.h"
#include "loci/sample/model_folder.h"
#include "loci/train/transformer/export_model.h"
#include "loci/train/transformer/grown_patches.h"
#include "loci/train/transformer/validation.h"

#include "tests/base/expect_error.h"
#include "toy_clips.h"
#include "training_runs.h"

namespace loci::train {
namespace {

class RecipeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fresh_folder("recipe");
    write_toy_clips(folder_ / "clips", 6, 13);
    recipe_ = toy_recipe(folder_ / "clips");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void use_trained_text() {
    recipe_["text"] = {{"dropout", 0.25},
                       {"encoder",
                        {{"vocab_size", 259},
                         {"d_model", 8},
                         {"d_kv", 4},
                         {"d_ff", 16},
                         {"num_heads", 2},
                         {"num_layers", 1}}}};
    recipe_["model"]["text_len"] = 8;
  }

  std::vector<Json> train(const std::string& name, int64_t updates) {
    recipe_["updates"] = updates;
    auto single = make_single_communicator();
    TransformerRun(TransformerRecipe::from_json(recipe_, "toy"), folder_ / name, false, *single)
        .loop.run();
    std::vector<Json> lines;
    std::ifstream file(folder_ / name / "metrics.jsonl");
    for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
    return lines;
  }

  std::filesystem::path folder_;
  Json recipe_;
};

TEST(ShippedRecipes, AreValid) {
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LOCI_CONFIGS)) {
    const std::string file = entry.path().string();
    Json recipe = load_json(file);
    if (!recipe.contains("phases")) continue;  // a model config
    ++read;
    if (recipe.value("model", Json::object()).contains("z_dim") || recipe.contains("world_model") ||
        recipe.contains("channels")) {
      const std::string start = recipe.value("start", "");
      if (start.starts_with("models/")) {
        recipe["start"] = (entry.path().parent_path().parent_path() / start).string();
      } else {
        // `start` is the result of another recipe. The keys that refer to it go with it.
        for (const char* key :
             {"start", "world_model", "decoder_only", "channels", "encoder", "decoder"}) {
          recipe.erase(key);
        }
        if (recipe.contains("refiner")) {
          recipe["model"]["refiner_dim"] = recipe["refiner"]["dim"];
          recipe.erase("refiner");
        }
      }
      EXPECT_GT(VaeRecipe::from_json(recipe, file).loop.updates, 0) << file;
    } else {
      EXPECT_GT(TransformerRecipe::from_json(recipe, file).loop.updates, 0) << file;
    }
  }
  EXPECT_GE(read, 5);
}

// The values of the paper's appendix on data and schedule.
TEST(ShippedRecipes, FollowThePaper) {
  const std::string file = std::string(LOCI_CONFIGS) + "/wan5b-train.json";
  const TransformerRecipe recipe = TransformerRecipe::from_json(load_json(file), file);
  const LoopConfig& loop = recipe.loop;
  EXPECT_EQ(loop.updates, 5000);
  EXPECT_EQ(loop.batch, 64);
  EXPECT_EQ(loop.ema, 0);
  EXPECT_EQ(recipe.text.dropout, 0.1);
  const OptimizerConfig& optimizer = loop.optimizer;
  EXPECT_EQ(optimizer.learning_rates.at(ParameterGroup::kBackbone), 1e-5);
  EXPECT_EQ(optimizer.learning_rates.at(ParameterGroup::kCamera), 5e-5);
  EXPECT_EQ(optimizer.learning_rates.at(ParameterGroup::kRecurrent), 1e-4);
  EXPECT_EQ(optimizer.warmup_updates, 250);
  EXPECT_EQ(optimizer.decay_updates, 5000);
  EXPECT_EQ(optimizer.final_share, 0.1);
  EXPECT_EQ(optimizer.weight_decay, 0);
  EXPECT_EQ(optimizer.clip, 0.3);
  ASSERT_EQ(recipe.phases.size(), 2u);
  EXPECT_EQ(loop.phase(1999), 0u);
  EXPECT_EQ(loop.phase(2000), 1u);
  const double real[] = {0.45, 0.1};
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(recipe.phases[i].window, 81);
    double sum = 0;
    for (const auto& part : recipe.phases[i].data) sum += part.weight;
    EXPECT_NEAR(sum, 1, 1e-9);
    EXPECT_EQ(recipe.phases[i].data.back().weight, real[i]);
  }
}

// Without EMA, validation, checkpoints and exports have the trained weights.
TEST_F(RecipeTest, WithoutEmaTheLastWeightsAreExported) {
  recipe_["ema"] = 0;
  train("run", 3);
  export_model(folder_ / "run", folder_ / "averaged", {.dtype = at::kFloat, .ema = true});
  export_model(folder_ / "run", folder_ / "last", {.dtype = at::kFloat, .ema = false});
  const model::LoadedModel averaged = model::load_model(folder_ / "averaged"),
                           last = model::load_model(folder_ / "last");
  const auto &a = averaged.transformer.parameters().all(), &b = last.transformer.parameters().all();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(at::equal(a[i].tensor, b[i].tensor)) << a[i].name;
}

TEST_F(RecipeTest, TrainsAndExportsATextEncoder) {
  use_trained_text();
  train("run", 3);
  export_model(folder_ / "run", folder_ / "model", {.dtype = at::kFloat});
  const model::LoadedModel loaded = model::load_model(folder_ / "model");
  EXPECT_EQ(loaded.transformer.config().layers, 2);

  model::PromptOptions options = model::find_prompt_files(folder_ / "model");
  options.text_len = 8;
  const std::vector<std::string> prompts = {"a toy", "a boy"};
  const std::vector<at::Tensor> embeddings = model::encode_prompts(prompts, options);
  EXPECT_FALSE(at::equal(embeddings[0], embeddings[1]));

  // The encoder was trained: its gradient comes through the transformer.
  recipe_["optimizer"]["frozen"] = {"text"};
  train("frozen", 3);
  export_model(folder_ / "frozen", folder_ / "still", {.dtype = at::kFloat});
  options = model::find_prompt_files(folder_ / "still");
  options.text_len = 8;
  EXPECT_FALSE(at::equal(embeddings[0], model::encode_prompts(prompts, options)[0]));

  EXPECT_THROW(export_model(folder_ / "run", folder_ / "model", {}), Error);  // exists
  EXPECT_THROW(export_model(folder_ / "none", folder_ / "other", {}), Error);
}

TEST_F(RecipeTest, ExportWritesTheFrameSizeAndTheLens) {
  train("run", 1);
  const model::Vae vae(toy_vae(4));
  std::filesystem::create_directories(folder_ / "vae");
  vae.save(folder_ / "vae", at::kFloat);
  export_model(folder_ / "run", folder_ / "model", {.vae = folder_ / "vae"});
  const auto settings = sample::GenerationDefaults::load(folder_ / "model");
  EXPECT_EQ(settings.width, 4 * vae.config().spatial_factor());
  EXPECT_EQ(settings.height, 4 * vae.config().spatial_factor());
  EXPECT_NEAR(settings.fov, camera::degrees(1.2), 0.05);
  EXPECT_EQ(settings.family, "");
  // The manifest of procedural clips names their style.
  write_file(folder_ / "clips" / "manifest.json", R"({"style": "plaza"})");
  export_model(folder_ / "run", folder_ / "plaza", {.vae = folder_ / "vae"});
  EXPECT_EQ(sample::GenerationDefaults::load(folder_ / "plaza").family, "plaza");
  write_file(folder_ / "clips" / "manifest.json", R"({"style": null})");
  export_model(folder_ / "run", folder_ / "any", {.vae = folder_ / "vae"});
  EXPECT_EQ(sample::GenerationDefaults::load(folder_ / "any").family, "");
  // Without the data they are unknown.
  std::filesystem::remove_all(folder_ / "clips");
  export_model(folder_ / "run", folder_ / "bare", {.vae = folder_ / "vae"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "bare" / "generation.json"));
}

TEST_F(RecipeTest, StartsFromAModelFolder) {
  const double untrained = train("first", 60).front()["loss"];
  export_model(folder_ / "first", folder_ / "model", {.dtype = at::kFloat, .ema = false});
  recipe_["start"] = (folder_ / "model").string();
  const double first = train("second", 1).front()["loss"];
  EXPECT_LT(first, 0.8 * untrained);
  // New recurrent states.
  recipe_["start_without"] = {"recurrent"};
  const double anew = train("anew", 1).front()["loss"];
  EXPECT_NE(anew, first);
  EXPECT_LT(anew, 0.8 * untrained);
  recipe_["start_without"] = {"states"};
  EXPECT_BAD_INPUT(train("third", 1), ::testing::HasSubstr("unknown parameter group 'states'"));
  recipe_["model"]["given_in_chunk"] = true;
  EXPECT_BAD_INPUT(train("fourth", 1), ::testing::HasSubstr("cannot be trained"));
  recipe_["model"].erase("given_in_chunk");
  recipe_.erase("start_without");
  recipe_["model"]["ffn_dim"] = 64;
  EXPECT_THROW(train("fourth", 1), Error);
}

TEST_F(RecipeTest, StartsFromAModelWithLargerPatches) {
  const double untrained = train("first", 60).front()["loss"];
  export_model(folder_ / "first", folder_ / "model", {.dtype = at::kFloat, .ema = false});
  Json fine = recipe_;
  fine["start"] = (folder_ / "model").string();
  fine["model"]["patch_size"] = {1, 1, 1};
  std::swap(recipe_, fine);
  EXPECT_LT(train("second", 1).front()["loss"].get<double>(), 0.8 * untrained);
  export_model(folder_ / "second", folder_ / "fine", {.dtype = at::kFloat});
  // A model with smaller patches is refused.
  std::swap(recipe_, fine);
  recipe_["start"] = (folder_ / "fine").string();
  EXPECT_BAD_INPUT(train("third", 1),
                   ::testing::HasSubstr("start from a model with patches of the same size"));
}

TEST(GrownPatches, KeepTheResultForConstantContent) {
  const PatchShape from{4, 3}, to{2, 3};
  const int64_t width = 5;
  const at::Tensor embedding = at::randn({width, 3, 1, 4, 4});
  const at::Tensor fine = grown_for("patch_embedding.weight", embedding, from, to);
  ASSERT_EQ(fine.sizes(), (at::IntArrayRef{width, 3, 1, 2, 2}));
  const at::Tensor content = at::randn({3, 2, 2});
  const at::Tensor magnified = content.repeat_interleave(2, 1).repeat_interleave(2, 2);
  EXPECT_TRUE(at::allclose(at::mv(fine.flatten(1), content.flatten()),
                           at::mv(embedding.flatten(1), magnified.flatten()), 1e-4, 1e-4));
  // The mean of the large patch's output at each position.
  const at::Tensor out = at::randn({4 * 4 * 3, width}), hidden = at::randn({width});
  const at::Tensor coarse = at::mv(out, hidden).view({2, 2, 2, 2, 3}).mean({1, 3});
  EXPECT_TRUE(at::allclose(at::mv(grown_for("proj_out.weight", out, from, to), hidden),
                           coarse.flatten(), 1e-4, 1e-4));
  const at::Tensor other = at::randn({4});
  EXPECT_TRUE(grown_for("scale_shift_table", other, from, to).equal(other));
}

TEST(GrownPatches, NewChannelsHaveZeroWeights) {
  const PatchShape from{2, 3}, to{2, 5};
  const int64_t width = 5;
  const at::Tensor embedding = at::randn({width, 3, 1, 2, 2}), content = at::randn({5, 2, 2});
  EXPECT_TRUE(
      at::allclose(at::mv(grown_for("patch_embedding.weight", embedding, from, to).flatten(1),
                          content.flatten()),
                   at::mv(embedding.flatten(1), content.narrow(0, 0, 3).flatten()), 1e-4, 1e-4));
  const at::Tensor bias = at::randn({2 * 2 * 3});
  const at::Tensor grown = grown_for("proj_out.bias", bias, from, to).view({2, 2, 5});
  EXPECT_TRUE(grown.narrow(2, 0, 3).equal(bias.view({2, 2, 3})));
  EXPECT_TRUE(grown.narrow(2, 3, 2).eq(0).all().item<bool>());
  EXPECT_FALSE(can_grow(to, from));
}

TEST_F(RecipeTest, DistillsAFullSoftmaxTeacher) {
  Json hybrid = recipe_;
  recipe_["model"]["recurrent_memory"] = "none";
  train("teacher", 40);
  export_model(folder_ / "teacher", folder_ / "softmax", {.dtype = at::kFloat});
  recipe_ = hybrid;
  recipe_["start"] = (folder_ / "softmax").string();
  recipe_["distill"] = {{"teacher", (folder_ / "softmax").string()}};
  const std::vector<Json> lines = train("student", 30);
  const auto mean = [&](size_t from) {
    double sum = 0;
    for (size_t i = from; i < from + 8; ++i) sum += lines[i]["loss"].get<double>() / 8;
    return sum;
  };
  EXPECT_LT(mean(22), 0.8 * mean(0));
  // On windows that the teacher generates.
  recipe_["distill"]["rollout_steps"] = 2;
  EXPECT_TRUE(std::isfinite(train("rollout", 2).back()["loss"].get<double>()));
}

TEST_F(RecipeTest, ValidatesOnOtherWindowsThanItTrainsOn) {
  write_toy_clips(folder_ / "held-out", 2, 13);
  recipe_["validation"] = {
      {"folder", (folder_ / "held-out").string()}, {"every", 2}, {"windows", 4}};
  const std::vector<Json> lines = train("run", 4);
  std::vector<Json> found;
  for (const Json& line : lines) {
    if (line.contains("validation/loss")) found.push_back(line);
  }
  ASSERT_EQ(found.size(), 2u);
  EXPECT_LT(found[1]["validation/loss"], found[0]["validation/loss"]);
  EXPECT_NE(found[1]["validation/loss"], found[1]["validation/loss_read_off"]);
  // The initial retention is 0.7, so no channel is above 0.9.
  EXPECT_EQ(found[0]["validation/retention_1"], 0.0);
  EXPECT_NEAR(found[0]["validation/write_1"], 1, 0.2);
  EXPECT_GT(found[0]["validation/keys_1"], 1);
  EXPECT_LT(found[0]["validation/keys_1"], 128);
  // Validation does not change the training.
  recipe_.erase("validation");
  std::vector<Json> plain = train("plain", 4);
  EXPECT_EQ(plain.back()["loss"], lines[lines.size() - 2]["loss"]);
}

}  // namespace
}  // namespace loci::train
