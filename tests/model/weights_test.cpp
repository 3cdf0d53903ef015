// SPDX-License-Identifier: Apache-2.0
#include "loci/model/weights/weights.h"

#include <unistd.h>

#include <algorithm>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loci/base/file.h"
#include "loci/io/tensors/safetensors.h"

#include "tests/base/expect_error.h"
#include "tests/io/gguf_bytes.h"
#include "tests/model/tiny_model.h"

namespace loci::model {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Weights : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / fmt::format("loci_weights_{}", ::getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // The tensors of the file.
  io::NamedTensors stored(const fs::path& path) const {
    const io::Checkpoint checkpoint = io::Checkpoint::open(path);
    io::NamedTensors tensors;
    for (const std::string& name : checkpoint.names()) {
      tensors.emplace_back(name, checkpoint.tensor(name).clone());
    }
    return tensors;
  }
  // A folder with the model's config and these tensors.
  fs::path write(const std::string& name, const io::NamedTensors& tensors) const {
    const fs::path path = folder_ / name;
    fs::create_directories(path);
    io::write_safetensors(path / "diffusion_pytorch_model.safetensors", tensors);
    write_file(path / "config.json", config_.to_json().dump());
    return path;
  }

  TransformerConfig config_ = testing::tiny_config();
  Transformer model_ = testing::random_transformer(config_);
  fs::path folder_;
};

void expect_equal(const Transformer& got, const Transformer& expected, bool branches) {
  const auto& a = got.parameters().all();
  const auto& b = expected.parameters().all();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    if (!branches && part_of(a[i].name) != ModelPart::kBase) continue;
    EXPECT_TRUE(at::equal(a[i].tensor, b[i].tensor)) << a[i].name;
  }
}

TEST_F(Weights, EveryLayoutSurvivesSaveAndLoad) {
  const Json branches = {{"hybrid_layers", {1}}, {"camera_attn_compress", 1}, {"chunk_size", 2}};
  for (const WeightLayout layout : kWeightLayouts) {
    const fs::path path = folder_ / name_of(layout);
    save_model(config_, model_.parameters().all(), path, {.layout = layout, .dtype = at::kFloat});
    const LoadedModel loaded =
        load_model(path, {.overrides = is_plain(layout) ? branches : Json::object()});
    EXPECT_EQ(loaded.layout, layout);
    EXPECT_EQ(loaded.new_branches, is_plain(layout));
    EXPECT_TRUE(loaded.report.clean());
    expect_equal(loaded.transformer, model_, !is_plain(layout));
    EXPECT_EQ(loaded.transformer.config().to_json(), config_.to_json()) << name_of(layout);
    const FitReport fit = check_fit(loaded.transformer.config(), io::Checkpoint::open(path));
    EXPECT_TRUE(fit.report.clean());
    EXPECT_EQ(fit.layout, layout);
  }
}

TEST_F(Weights, LayoutsHaveTheirPublishedNames) {
  const auto names = [&](WeightLayout layout) {
    std::vector<std::string> list;
    for (const Parameter& parameter : model_.parameters().all()) {
      list.push_back(from_release_name(parameter.name, layout));
    }
    return list;
  };
  using ::testing::IsSupersetOf;
  EXPECT_THAT(
      names(WeightLayout::kWan),
      IsSupersetOf({"patch_embedding.weight", "time_embedding.0.weight", "time_embedding.2.bias",
                    "time_projection.1.weight", "text_embedding.0.weight",
                    "text_embedding.2.weight", "head.modulation", "head.head.weight",
                    "blocks.1.modulation", "blocks.0.self_attn.q.weight",
                    "blocks.0.self_attn.norm_k.weight", "blocks.0.cross_attn.o.bias",
                    "blocks.1.norm3.weight", "blocks.0.ffn.0.weight", "blocks.0.ffn.2.bias"}));
  EXPECT_THAT(
      names(WeightLayout::kTraining),
      IsSupersetOf({"model.blocks.0.cam_self_attn.q_proj.weight", "model.blocks.1.attn1.gdn.A_log",
                    "model.blocks.1.attn1.to_q.weight", "model.scale_shift_table"}));
  EXPECT_THAT(
      names(WeightLayout::kRelease),
      IsSupersetOf({"blocks.0.camera_attn.cam_encoder.bias", "blocks.1.kda.phi_v.weight",
                    "condition_embedder.time_embedder.linear_1.weight",
                    "blocks.1.ffn.net.0.proj.weight", "blocks.1.ffn.net.2.bias",
                    "blocks.0.attn1.to_out.0.weight", "proj_out.bias", "scale_shift_table"}));
  for (const WeightLayout layout : kWeightLayouts) {
    for (const Parameter& parameter : model_.parameters().all()) {
      const std::string name = from_release_name(parameter.name, layout);
      if (is_plain(layout) && part_of(parameter.name) != ModelPart::kBase) {
        EXPECT_EQ(name, "");
      } else {
        EXPECT_EQ(to_release_name(name), parameter.name);
      }
    }
  }
  EXPECT_EQ(to_release_name("model.negative_embeddings"), "");
  EXPECT_EQ(to_release_name("model.diffusion_model.blocks.3.self_attn.q.bias"),
            "blocks.3.attn1.to_q.bias");
  EXPECT_EQ(to_release_name("blocks.x.self_attn.q.bias"), "blocks.x.self_attn.q.bias");
}

TEST_F(Weights, NewBranchesHaveNoEffect) {
  save_model(config_, model_.parameters().all(), folder_ / "wan",
             {.layout = WeightLayout::kWan, .dtype = at::kFloat});
  const LoadedModel loaded = load_model(
      folder_ / "wan", {.overrides = {{"hybrid_layers", {1}}, {"camera_attn_compress", 1}}});
  std::map<std::string, at::Tensor> at_name;
  for (const Parameter& p : loaded.transformer.parameters().all()) at_name[p.name] = p.tensor;
  EXPECT_EQ(at_name.at("blocks.0.camera_attn.out_proj.weight").abs().max().item<float>(), 0);
  EXPECT_EQ(at_name.at("blocks.0.camera_attn.out_proj.bias").abs().max().item<float>(), 0);
  EXPECT_GT(at_name.at("blocks.0.camera_attn.q_proj.weight").abs().max().item<float>(), 0);
  EXPECT_TRUE(at::equal(at_name.at("blocks.1.kda.phi_q.weight").squeeze(-1), at::eye(128)));
  EXPECT_EQ(at_name.at("blocks.1.kda.a_proj.weight").abs().max().item<float>(), 0);
  EXPECT_EQ(at_name.at("blocks.1.kda.A_log").abs().max().item<float>(), 0);
  // The retention starts at 0.7.
  EXPECT_TRUE(at::allclose(at::exp(-at::softplus(at_name.at("blocks.1.kda.dt_bias"))),
                           at::full({64}, 0.7)));
  EXPECT_GT(at_name.at("blocks.1.kda.b_proj.weight").abs().max().item<float>(), 0);
  EXPECT_LT(at_name.at("blocks.1.kda.gate_proj.weight").std().item<float>(), 0.05);
}

TEST_F(Weights, ErrorsListEveryTensorThatDoesNotFit) {
  save_model(config_, model_.parameters().all(), folder_ / "good", {.dtype = at::kFloat});
  io::NamedTensors tensors = stored(folder_ / "good");
  std::erase_if(tensors, [](const auto& t) {
    return t.first == "blocks.1.kda.A_log" || t.first == "blocks.0.attn1.to_q.bias";
  });
  tensors.emplace_back("blocks.7.attn1.to_q.bias", at::zeros({128}));
  tensors.emplace_back("img_emb.proj.weight", at::zeros({2, 2}));
  for (auto& [name, tensor] : tensors) {
    if (name == "proj_out.bias") tensor = at::zeros({13});
    if (name == "blocks.0.norm2.bias") tensor = at::zeros({128}, at::kLong);
  }
  const fs::path path = write("bad", tensors);
  EXPECT_BAD_INPUT(
      load_model(path),
      AllOf(HasSubstr("2 missing: "), HasSubstr("blocks.1.kda.A_log"),
            HasSubstr("blocks.0.attn1.to_q.bias"), HasSubstr("2 unexpected: "),
            HasSubstr("blocks.7.attn1.to_q.bias"), HasSubstr("img_emb.proj.weight"),
            HasSubstr("2 with the wrong shape or type: "),
            HasSubstr("proj_out.bias: [13] in the file, [12] expected"), HasSubstr("norm2.bias")));
  const FitReport fit = check_fit(config_, io::Checkpoint::open(path));
  EXPECT_EQ(fit.report.missing.size(), 2U);
  EXPECT_EQ(fit.report.unexpected.size(), 2U);
  EXPECT_EQ(fit.report.misshapen.size(), 2U);

  // Allowed differences are not in the message; with all of them allowed the model loads.
  EXPECT_BAD_INPUT(load_model(path, {.allow_missing = true, .allow_misshapen = true}),
                   AllOf(HasSubstr("2 unexpected"), Not(HasSubstr("missing"))));
  EXPECT_BAD_INPUT(load_model(path, {.allow_missing = true, .allow_unexpected = true}),
                   HasSubstr("2 with the wrong shape"));
  const LoadedModel loaded =
      load_model(path, {.allow_missing = true, .allow_unexpected = true, .allow_misshapen = true});
  EXPECT_EQ(loaded.report.missing.size(), 2U);
  EXPECT_FALSE(loaded.new_branches);
}

TEST_F(Weights, PartialBranchesAreRejected) {
  save_model(config_, model_.parameters().all(), folder_ / "good", {.dtype = at::kFloat});
  io::NamedTensors tensors = stored(folder_ / "good");
  std::erase_if(tensors, [](const auto& t) { return t.first.find(".kda.") != std::string::npos; });
  EXPECT_BAD_INPUT(load_model(write("no_kda", tensors)),
                   AllOf(HasSubstr("8 missing"), HasSubstr("blocks.1.kda.dt_bias")));
}

TEST_F(Weights, AmbiguousNamesAreRejected) {
  EXPECT_BAD_INPUT(load_model(write("twice", {{"scale_shift_table", at::zeros({1, 2, 128})},
                                              {"head.modulation", at::zeros({1, 2, 128})}})),
                   AllOf(HasSubstr("head.modulation"), HasSubstr("ambiguous")));
}

TEST_F(Weights, ReadsGgufWithTheShapesOfOtherPrograms) {
  // ComfyUI's converter keeps names and shapes of the original. stable-diffusion.cpp adds a prefix,
  // drops leading dimensions of 1 and merges the first two of five dimensions.
  io::NamedTensors original, merged;
  for (const Parameter& parameter : model_.parameters().all()) {
    const std::string name = from_release_name(parameter.name, WeightLayout::kWan);
    if (name.empty()) continue;
    original.emplace_back(name, parameter.tensor);
    at::Tensor tensor = parameter.tensor;
    if (tensor.dim() == 5) tensor = tensor.flatten(0, 1);
    while (tensor.dim() > 1 && tensor.size(0) == 1) tensor = tensor.squeeze(0);
    merged.emplace_back("model.diffusion_model." + name, tensor);
  }
  const Json branches = {{"hybrid_layers", {1}}, {"camera_attn_compress", 1}, {"chunk_size", 2}};
  for (const auto* tensors : {&original, &merged}) {
    const fs::path path = folder_ / (tensors == &original ? "comfy" : "sd");
    fs::create_directories(path);
    write_file(path / "wan-F32.gguf", testing::gguf_bytes(*tensors));
    write_file(path / "config.json", config_.to_json().dump());
    const LoadedModel loaded = load_model(path, {.overrides = branches});
    EXPECT_EQ(loaded.layout, WeightLayout::kWan);
    EXPECT_TRUE(loaded.new_branches);
    expect_equal(loaded.transformer, model_, false);
    const FitReport fit = check_fit(loaded.transformer.config(), io::Checkpoint::open(path));
    EXPECT_TRUE(fit.report.clean()) << fit.report.text();
  }
  // Other differences of the shape are errors.
  merged[0].second = merged[0].second.flatten();
  write_file(folder_ / "sd" / "wan-F32.gguf", testing::gguf_bytes(merged));
  EXPECT_BAD_INPUT(load_model(folder_ / "sd", {.overrides = branches}),
                   HasSubstr("1 with the wrong shape or type: patch_embedding.weight"));
  // The same shapes in a safetensors file are errors, too.
  write("safetensors", original);
  EXPECT_NO_THROW(load_model(folder_ / "safetensors", {.overrides = branches}));
  merged[0].second = merged[0].second.view({-1, 1, config_.patch, config_.patch});
  write("safetensors", merged);
  EXPECT_BAD_INPUT(load_model(folder_ / "safetensors", {.overrides = branches}),
                   HasSubstr("patch_embedding.weight"));
}

TEST_F(Weights, SavesRequestedShardsAndTypes) {
  const fs::path path = folder_ / "sharded";
  save_model(config_, model_.parameters().all(), path, {.shard_bytes = 200'000});
  EXPECT_TRUE(fs::exists(path / "diffusion_pytorch_model.safetensors.index.json"));
  const io::Checkpoint sharded = io::Checkpoint::open(path);
  for (const io::TensorInfo& info : sharded.tensors()) {
    EXPECT_EQ(info.dtype, at::kBFloat16);
  }
  const LoadedModel loaded = load_model(path, {.dtype = at::kBFloat16});
  for (size_t i = 0; i < model_.parameters().all().size(); ++i) {
    EXPECT_TRUE(at::equal(loaded.transformer.parameters().all()[i].tensor,
                          model_.parameters().all()[i].tensor.to(at::kBFloat16)));
  }
  EXPECT_EQ(loaded.transformer.compute_type(), at::kBFloat16);
  // A folder that is not empty is overwritten only on request.
  EXPECT_BAD_INPUT(save_model(config_, model_.parameters().all(), path), HasSubstr("sharded"));
  save_model(config_, model_.parameters().all(), path,
             {.dtype = at::kFloat, .existing = AtomicDirectory::Existing::kReplace});
  EXPECT_FALSE(fs::exists(path / "diffusion_pytorch_model.safetensors.index.json"));
  expect_equal(load_model(path).transformer, model_, true);
}

TEST_F(Weights, FindsModelsInFoldersAndFiles) {
  fs::create_directories(folder_ / "pipeline");
  save_model(config_, model_.parameters().all(), folder_ / "pipeline" / "transformer",
             {.dtype = at::kFloat});
  const fs::path transformer = folder_ / "pipeline" / "transformer";
  // The folder of a pipeline, the model folder, the weights file.
  expect_equal(load_model(folder_ / "pipeline").transformer, model_, true);
  expect_equal(load_model(transformer / "diffusion_pytorch_model.safetensors").transformer, model_,
               true);
  // A single file can contain its config.
  io::write_safetensors(folder_ / "alone.safetensors", stored(transformer),
                        {{"loci.config", config_.to_json().dump()}});
  expect_equal(load_model(folder_ / "alone.safetensors").transformer, model_, true);
  // A config without weights.
  EXPECT_FALSE(open_model(transformer / "config.json").weights.has_value());
  EXPECT_BAD_INPUT(load_model(transformer / "config.json"), HasSubstr("no weights"));
  EXPECT_BAD_INPUT(load_model(folder_), HasSubstr("has no config.json"));
  // A file without a config is compared with the 5B model.
  io::write_safetensors(folder_ / "unknown.safetensors", stored(transformer));
  const ModelFiles unknown = open_model(folder_ / "unknown.safetensors");
  EXPECT_EQ(unknown.config.layers, 30);
  EXPECT_FALSE(check_fit(unknown.config, *unknown.weights).report.clean());
  EXPECT_BAD_INPUT(load_model(folder_ / "pipeline", {.overrides = {{"hybrid_layer", {1}}}}),
                   HasSubstr("hybrid_layers"));
}

}  // namespace
}  // namespace loci::model
