// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "loci/model/transformer/config.h"
#include "loci/model/weights/summary.h"

#include "tests/base/expect_error.h"

namespace loci::model {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TransformerConfig parse(const Json& json) { return TransformerConfig::from_json(json, "c.json"); }

Json small(const Json& changes = Json::object()) {
  Json json = {{"num_attention_heads", 2}, {"num_layers", 4}, {"in_channels", 8},
               {"hybrid_layers", {1, 3}},  {"ffn_dim", 64},   {"camera_attn_compress", 2}};
  json.update(changes);
  return json;
}

TEST(TransformerConfig, DefaultsAreThe5BModel) {
  const TransformerConfig c = parse(Json::object());
  EXPECT_EQ(c.width(), 3072);
  EXPECT_EQ(c.camera_heads(), 6);
  EXPECT_EQ(c.hybrid_layers.size(), 15U);
  EXPECT_EQ(c.recurrent_memory, "chunk_kda");
  const ParameterCounts counts = count_parameters(c);
  EXPECT_EQ(counts.base, 4'999'787'712U);
  EXPECT_EQ(counts.camera, 283'645'440U);
  EXPECT_EQ(counts.recurrent, 90'708'840U);
}

TEST(TransformerConfig, SurvivesJson) {
  for (const Json& changes : std::vector<Json>{
           {{"recurrent_memory", "ssm"}, {"eps", 1e-5}, {"chunk_size", 3}, {"text_len", 7}},
           {{"hybrid_layers", Json::array()}},
           {{"recurrent_memory", "none"}},
           {{"linear_guess", std::vector<double>(8, 0.5)}},
           {{"recurrent_memory", "ray_kda"}, {"recurrent_heads_per_head", 2}},
           {{"recurrent_memory", "ray_kda"},
            {"kda_start_beta", 1.0},
            {"ray_encoding",
             {{"channels", 128}, {"values", true}, {"distances", {2.0, 4.0}}, {"seed", 7}}}},
           {{"kda_phi_v_start", 8.0}, {"kda_start_retention", 0.9}, {"kda_min_retention", 0.5}}}) {
    const TransformerConfig once = parse(small(changes));
    EXPECT_EQ(parse(once.to_json()).to_json(), once.to_json());
  }
  EXPECT_EQ(parse(small({{"hybrid_layers", Json::array()}})).recurrent_memory, "none");
}

TEST(TransformerConfig, RayMemoryHasItsOwnStartAndEncoding) {
  const TransformerConfig paper = parse(small());
  EXPECT_EQ(paper.kda_start_beta, 1);
  EXPECT_EQ(paper.beta_offset(), 0);
  EXPECT_EQ(paper.kda_start_retention, 0.7);
  for (const char* key : {"ray_encoding", "kda_start_beta", "recurrent_heads_per_head"}) {
    EXPECT_FALSE(paper.to_json().contains(key)) << "files of the release must not change: " << key;
  }
  const TransformerConfig ray = parse(small({{"recurrent_memory", "ray_kda"}}));
  EXPECT_EQ(ray.kda_start_beta, 0.1);
  EXPECT_EQ(ray.kda_start_retention, 0.995);
  EXPECT_EQ(ray.recurrent_mapping().blocks, 2);
  EXPECT_EQ(ray.recurrent_mapping().heads, ray.heads);
  EXPECT_NE(ray.recurrent_mapping(), paper.recurrent_mapping());
  const auto with = [](const Json& encoding) {
    return parse(small({{"recurrent_memory", "ray_kda"}, {"ray_encoding", encoding}}));
  };
  EXPECT_FALSE(with({{"channels", 128}}).ray_encoding.tiles);
  EXPECT_BAD_INPUT(with({{"channels", 100}}), AllOf(HasSubstr("ray_encoding"), HasSubstr("84")));
  EXPECT_BAD_INPUT(with({{"channels", 128}, {"tiles", true}}), HasSubstr("no room for tiles"));
  EXPECT_BAD_INPUT(with({{"direction_bandwidths", Json::array()}}), HasSubstr("is empty"));
  EXPECT_BAD_INPUT(with({{"centre_bandwidths", {0.4, 0.0}}}), HasSubstr("centre_bandwidths"));
  EXPECT_BAD_INPUT(with({{"distances", {-1.0}}}), HasSubstr("distances contains -1"));
  EXPECT_BAD_INPUT(with({{"seed", -1}}), HasSubstr("seed"));
  EXPECT_BAD_INPUT(with({{"bandwidths", {1.0}}}), HasSubstr("bandwidths"));
  EXPECT_BAD_INPUT(parse(small({{"kda_start_beta", 2.0}})), HasSubstr("kda_start_beta"));
  EXPECT_BAD_INPUT(parse(small({{"recurrent_heads_per_head", 0}})),
                   HasSubstr("recurrent_heads_per_head"));
}

TEST(TransformerConfig, LinearGuessHasOneDeviationPerChannel) {
  EXPECT_BAD_INPUT(parse(small({{"linear_guess", {1.0, 2.0}}})), HasSubstr("8 channels"));
  EXPECT_BAD_INPUT(parse(small({{"linear_guess", std::vector<double>(8, 0.0)}})),
                   HasSubstr("above 0"));
}

TEST(TransformerConfig, ReadsReleaseConfigs) {
  const TransformerConfig release = parse(small({{"_class_name", "LociTransformer3DModel"},
                                                 {"_diffusers_version", "0.35.0"},
                                                 {"camera_image_scale", 32},
                                                 {"kda_image_scale", 32},
                                                 {"rope_max_seq_len", 1024},
                                                 {"cross_attn_norm", true},
                                                 {"qk_norm", "rms_norm_across_heads"},
                                                 {"out_channels", nullptr}}));
  EXPECT_THAT(release.hybrid_layers, ElementsAre(1, 3));
  const TransformerConfig diffusers = parse({{"_class_name", "WanTransformer3DModel"},
                                             {"num_attention_heads", 24},
                                             {"added_kv_proj_dim", nullptr},
                                             {"image_dim", nullptr},
                                             {"pos_embed_seq_len", nullptr},
                                             {"patch_size", {1, 2, 2}}});
  EXPECT_EQ(diffusers.layers, 30);
}

TEST(TransformerConfig, ReadsKeysOfOriginalWan) {
  const Json wan = {{"_class_name", "WanModel"},
                    {"_diffusers_version", "0.33.0"},
                    {"dim", 3072},
                    {"eps", 1e-6},
                    {"ffn_dim", 14336},
                    {"freq_dim", 256},
                    {"in_dim", 48},
                    {"model_type", "ti2v"},
                    {"num_heads", 24},
                    {"num_layers", 30},
                    {"out_dim", 48},
                    {"text_len", 512}};
  EXPECT_EQ(parse(wan).to_json(), TransformerConfig().to_json());
  const auto with = [&](const Json& changes) {
    Json json = wan;
    json.update(changes);
    return json;
  };
  EXPECT_EQ(parse(with({{"num_heads", 12}, {"dim", 1536}})).heads, 12);
  EXPECT_BAD_INPUT(parse(with({{"dim", 1536}})),
                   AllOf(HasSubstr("dim is 1536"), HasSubstr("24 heads")));
  EXPECT_BAD_INPUT(parse(with({{"model_type", "i2v"}})), HasSubstr("model_type"));
  EXPECT_BAD_INPUT(parse(with({{"in_dim", 36}})), HasSubstr("they must be equal"));
  EXPECT_BAD_INPUT(parse(with({{"qk_norm", false}})), HasSubstr("qk_norm is false"));
  EXPECT_BAD_INPUT(parse(with({{"window_size", {8, 8}}})), HasSubstr("window_size is [8, 8]"));
  EXPECT_BAD_INPUT(parse(with({{"num_attention_heads", 24}})), HasSubstr("they mean the same"));
  EXPECT_BAD_INPUT(parse(with({{"num_layers", 32}})),
                   AllOf(HasSubstr("hybrid_layers is not given"), HasSubstr("30 layers")));
  EXPECT_EQ(parse(with({{"num_layers", 32}, {"recurrent_memory", "none"}})).layers, 32);
  Json without_dim = wan;
  without_dim.erase("dim");
  EXPECT_BAD_INPUT(parse(without_dim), HasSubstr("dim"));
}

TEST(TransformerConfig, ReadsTrainingConfigsOfTheRelease) {
  const TransformerConfig c = parse({{"denoising_chunk_size", 3},
                                     {"learning_rate", 1e-5},
                                     {"model_kwargs",
                                      {{"hybrid_layers", {4, 2}},
                                       {"ucpe_attn_compress", 8},
                                       {"ucpe_prope_image_scale", 32},
                                       {"gdn_chunk_decay_min_retention", 0.25},
                                       {"something_else", 1}}}});
  EXPECT_EQ(c.chunk_size, 3);
  EXPECT_THAT(c.hybrid_layers, ElementsAre(4, 2));
  EXPECT_EQ(c.camera_attn_compress, 8);
  EXPECT_EQ(c.kda_min_retention, 0.25);
}

TEST(TransformerConfig, RejectsInvalidSettings) {
  EXPECT_BAD_INPUT(parse(Json::array()), HasSubstr("c.json"));
  EXPECT_BAD_INPUT(parse({{"_class_name", "AutoencoderKLWan"}}), HasSubstr("AutoencoderKLWan"));
  EXPECT_BAD_INPUT(parse({{"architectures", {"UMT5EncoderModel"}}}), HasSubstr("another kind"));
  EXPECT_BAD_INPUT(parse(small({{"recurrent_memory", "chunk_kba"}})),
                   AllOf(HasSubstr("recurrent_memory"), HasSubstr("chunk_kda")));
  EXPECT_BAD_INPUT(parse(small({{"hybrid_layers", {1, 4}}})),
                   AllOf(HasSubstr("layer 4"), HasSubstr("0 to 3")));
  EXPECT_BAD_INPUT(parse(small({{"hybrid_layers", {-1}}})), HasSubstr("layer -1"));
  EXPECT_BAD_INPUT(parse(small({{"hybrid_layers", {1, 1}}})), HasSubstr("twice"));
  EXPECT_BAD_INPUT(parse(small({{"hybrid_layers", "1,3"}})), HasSubstr("hybrid_layers"));
  EXPECT_BAD_INPUT(parse(small({{"hybrid_layer", {1}}})),
                   AllOf(HasSubstr("hybrid_layer"), HasSubstr("hybrid_layers")));
  EXPECT_BAD_INPUT(parse(small({{"hybrid_layers", Json::array()}, {"recurrent_memory", "linear"}})),
                   HasSubstr("hybrid_layers is empty"));
  EXPECT_BAD_INPUT(parse(small({{"camera_attn_compress", 3}})), HasSubstr("not a multiple"));
  EXPECT_BAD_INPUT(parse(small({{"attention_head_dim", 64}})), HasSubstr("128"));
  EXPECT_BAD_INPUT(parse(small({{"out_channels", 4}})), HasSubstr("out_channels"));
  EXPECT_BAD_INPUT(parse(small({{"patch_size", {2, 2, 2}}})), HasSubstr("patch_size"));
  EXPECT_BAD_INPUT(parse(small({{"patch_size", {1, 2, 3}}})), HasSubstr("patch_size"));
  EXPECT_BAD_INPUT(parse(small({{"freq_dim", 33}})), HasSubstr("even"));
  EXPECT_BAD_INPUT(parse(small({{"cross_attn_norm", false}})), HasSubstr("cross_attn_norm"));
  EXPECT_BAD_INPUT(parse(small({{"qk_norm", "layer_norm"}})), HasSubstr("qk_norm"));
  EXPECT_BAD_INPUT(parse(small({{"num_layers", int64_t{1} << 40}})), HasSubstr("num_layers"));
  EXPECT_BAD_INPUT(parse(small({{"kda_min_retention", 0.0}})), HasSubstr("kda_min_retention"));
  EXPECT_BAD_INPUT(parse(small({{"kda_min_retention", 0.8}})), HasSubstr("kda_start_retention"));
  EXPECT_BAD_INPUT(parse(small({{"num_attention_heads", 2.5}})), HasSubstr("num_attention_heads"));
}

TEST(TransformerConfig, FramesDivideIntoPatches) {
  const TransformerConfig c = parse(small());
  EXPECT_EQ(c.grid(4, 6), (camera::TokenGrid{2, 3}));
  EXPECT_BAD_INPUT(c.grid(5, 6), HasSubstr("do not divide"));
}

TEST(Summary, EqualsTheStorageTableOfThePaper) {
  const TransformerConfig c;
  EXPECT_EQ(layer_letters(c), "SSRSRSRRRRSRSRRSRSSSSSSRRRSRRS");
  const camera::TokenGrid grid{16, 24};
  // One latent frame of 384 tokens in BF16: 4.5 MiB per main layer, 1.125 MiB per camera layer.
  const HistoryBytes dense = history_bytes(c, grid, 161, at::kBFloat16);
  EXPECT_EQ(dense.main, uint64_t{161} * 15U * (9U << 19));
  EXPECT_EQ(dense.camera, uint64_t{161} * 30U * (9U << 17));
  EXPECT_EQ(dense.state, 15U * 24U * 128U * 128U * 4U);
  const HistoryBytes full = history_bytes(full_softmax(c), grid, 161, at::kBFloat16);
  EXPECT_EQ(full.main, 2 * dense.main);
  EXPECT_EQ(full.camera, dense.camera);
  EXPECT_EQ(full.state, 0U);
}

}  // namespace
}  // namespace loci::model
