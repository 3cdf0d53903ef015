// SPDX-License-Identifier: Apache-2.0
#include "loci/model/weights/foreign_config.h"

#include <array>
#include <string_view>
#include <utility>

#include "loci/base/error.h"
#include "loci/base/text.h"
#include "loci/model/transformer/config.h"
#include "loci/model/weights/systems.h"

namespace loci::model {

namespace {

using Renaming = std::pair<const char*, const char*>;

constexpr std::array kWanKeys = {Renaming{"num_heads", "num_attention_heads"},
                                 Renaming{"in_dim", "in_channels"},
                                 Renaming{"out_dim", "out_channels"}};

constexpr std::array kTrainingKeys = {
    Renaming{"hybrid_layers", "hybrid_layers"},
    Renaming{"ucpe_attn_compress", "camera_attn_compress"},
    Renaming{"ucpe_prope_image_scale", "camera_image_scale"},
    Renaming{"gdn_chunk_decay_min_retention", "kda_min_retention"}};

Json from_wan(Json json, const std::string& where) {
  for (const auto& [from, to] : kWanKeys) {
    if (!json.contains(from)) continue;
    if (json.contains(to))
      fail("{}: both {} and {} are given; they mean the same, remove one", where, from, to);
    json[to] = json[from];
    json.erase(from);
  }
  const ConfigReader reader(json, where);
  const auto width = reader.get<int64_t>("dim");
  const auto heads = reader.get<int64_t>("num_attention_heads");
  if (width % kHeadChannels != 0 || width / kHeadChannels != heads) {
    fail("{}: dim is {} with {} heads; only heads of {} channels are supported", where, width,
         heads, kHeadChannels);
  }
  reader.choose("model_type", "ti2v", {"t2v", "ti2v"});
  if (!reader.get<bool>("qk_norm", true)) {
    fail("{}: qk_norm is false; only true is supported", where);
  }
  const auto window = reader.get<std::vector<int64_t>>("window_size", {-1, -1});
  if (window != std::vector<int64_t>{-1, -1}) {
    fail("{}: window_size is [{}]; only [-1, -1] (attention over the whole chunk) is supported",
         where, fmt::join(window, ", "));
  }
  for (const char* key : {"dim", "model_type", "qk_norm", "window_size"}) json.erase(key);
  return json;
}

Json from_training(const Json& json, const std::string& where) {
  const ConfigReader reader(json, where);
  const Json& choices = reader.section("model_kwargs").json();
  Json release = Json::object();
  for (const auto& [from, to] : kTrainingKeys) {
    if (choices.contains(from)) release[to] = choices[from];
  }
  if (json.contains("denoising_chunk_size")) release["chunk_size"] = json["denoising_chunk_size"];
  return release;
}

std::string class_name(const Json& json) {
  const auto found = json.find("_class_name");
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

bool describes_transformer(const Json& json) {
  if (!json.is_object()) return false;
  const std::string name = class_name(json);
  return name.empty() ? !json.contains("architectures")
                      : name.find("Transformer3DModel") != std::string::npos ||
                            name.find("WanModel") != std::string::npos;
}

Json to_release_config(const Json& json, const std::string& where) {
  if (!json.is_object()) fail("{}: expected a JSON object of settings", where);
  if (!describes_transformer(json)) {
    fail("{}: the file describes a {}, not a transformer of the Wan family", where,
         class_name(json).empty() ? "model of another kind" : one_line(class_name(json)));
  }
  if (json.contains("model_kwargs")) return from_training(json, where);
  if (json.contains("dim") || json.contains("num_heads")) {
    return with_system(from_wan(json, where), "", where);
  }
  return with_system(json, "", where);
}

Json to_wan_config(const TransformerConfig& config) {
  return {{"_class_name", "WanModel"},
          {"model_type", "ti2v"},
          {"dim", config.width()},
          {"num_heads", config.heads},
          {"num_layers", config.layers},
          {"in_dim", config.channels},
          {"out_dim", config.channels},
          {"ffn_dim", config.ffn_dim},
          {"freq_dim", config.freq_dim},
          {"text_dim", config.text_dim},
          {"text_len", config.text_len},
          {"patch_size", {1, config.patch, config.patch}},
          {"eps", config.eps}};
}

Json to_diffusers_config(const TransformerConfig& config) {
  Json json = {{"_class_name", "WanTransformer3DModel"},
               {"num_attention_heads", config.heads},
               {"attention_head_dim", kHeadChannels},
               {"num_layers", config.layers},
               {"in_channels", config.channels},
               {"out_channels", config.channels},
               {"patch_size", {1, config.patch, config.patch}},
               {"ffn_dim", config.ffn_dim},
               {"text_dim", config.text_dim},
               {"freq_dim", config.freq_dim},
               {"eps", config.eps},
               {"cross_attn_norm", true},
               {"qk_norm", "rms_norm_across_heads"},
               {"image_dim", nullptr},
               {"added_kv_proj_dim", nullptr},
               {"rope_max_seq_len", 1024}};
  // Diffusers sets the length of texts in its pipeline, not in the config.
  if (config.text_len != TransformerConfig().text_len) json["text_len"] = config.text_len;
  return json;
}

}  // namespace loci::model
