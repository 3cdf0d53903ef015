// SPDX-License-Identifier: Apache-2.0
#include "loci/model/transformer/config.h"

#include <algorithm>
#include <cmath>

#include "loci/memory/recurrent/recurrent_registry.h"
#include "loci/model/weights/foreign_config.h"
#include "loci/model/weights/systems.h"

namespace loci::model {

namespace {

// In the order of the enumerators.
const std::vector<std::string> kBranchNames = {"rays", "projection", "none"};
const std::vector<std::string> kTimesNames = {"policy", "window", "own"};

// The hybrid blocks. The default applies to one number of layers only.
std::vector<int64_t> read_hybrid_layers(const ConfigReader& reader, const TransformerConfig& c) {
  const TransformerConfig defaults;
  const std::string& where = reader.where();
  if (!reader.has("hybrid_layers") && c.layers != defaults.layers) {
    if (c.recurrent_memory == "none") return {};
    fail(
        "{}: num_layers is {} and hybrid_layers is not given; its default is for {} layers only: "
        "list the blocks with a recurrent memory, [] for none",
        where, c.layers, defaults.layers);
  }
  const auto given = reader.get<std::vector<int64_t>>("hybrid_layers",
                                                      std::vector<int64_t>(defaults.hybrid_layers));
  std::vector<int64_t> sorted = given;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    fail("{}: hybrid_layers lists a layer twice", where);
  }
  if (!sorted.empty() && (sorted.front() < 0 || sorted.back() >= c.layers)) {
    fail("{}: hybrid_layers lists layer {}; layers are 0 to {}", where,
         sorted.front() < 0 ? sorted.front() : sorted.back(), c.layers - 1);
  }
  if (sorted.empty() && reader.has("recurrent_memory") && c.recurrent_memory != "none") {
    fail(
        "{}: recurrent_memory is {} but hybrid_layers is empty; list the hybrid blocks or choose "
        "none",
        where, c.recurrent_memory);
  }
  return given;
}

// Keys of systems other than LOCI.
void read_system(const ConfigReader& reader, TransformerConfig& c) {
  const std::string& where = reader.where();
  c.system = reader.choose("system", "", system_names());
  c.attention_map = reader.choose("attention_map", "rotary", {"rotary", "projection"}) == "rotary"
                        ? AttentionMap::kRotary
                        : AttentionMap::kProjection;
  const std::string branch = reader.choose("camera_branch", "rays", kBranchNames);
  c.camera_branch =
      static_cast<CameraBranchKind>(std::ranges::find(kBranchNames, branch) - kBranchNames.begin());
  const ConfigReader projection = reader.section("projection");
  camera::ProjectionOptions& p = c.projection;
  p.cameras_per_latent = projection.get<int64_t>("cameras_per_latent", 1, 1, 8);
  p.translation_scale = projection.get<double>("translation_scale", 1, 1e-6, 1e6);
  p.logarithmic = projection.get<bool>("logarithmic", false);
  if (projection.has("focal")) {
    const auto focal = projection.get<std::vector<double>>("focal");
    if (focal.size() != 2 || !(focal[0] > 0 && focal[1] > 0)) {
      fail("{}: focal is [{}]; expected two positive numbers, fx / width and fy / height",
           projection.where(), fmt::join(focal, ", "));
    }
    p.focal = {focal[0], focal[1]};
  }
  if (projection.has("bf16_image")) {
    const auto size = projection.get<std::vector<double>>("bf16_image");
    if (size.size() != 2 || !(size[0] > 0 && size[1] > 0)) {
      fail("{}: bf16_image is [{}]; expected width and height in pixels", projection.where(),
           fmt::join(size, ", "));
    }
    p.bf16_image = {size[0], size[1]};
  }
  c.world_poses = projection.get<bool>("world_poses", false);
  c.tile_stride = projection.get<int64_t>("tile_stride", 1, 1, 2);
  const int64_t turns = kHeadChannels / 4 / c.tile_stride;
  if (turns % p.cameras_per_latent != 0) {
    fail("{}: {} cameras per latent do not divide {} groups of channels", projection.where(),
         p.cameras_per_latent, turns);
  }
  const std::string times = reader.choose("key_times", "policy", kTimesNames);
  c.key_times =
      static_cast<memory::KeyTimes>(std::ranges::find(kTimesNames, times) - kTimesNames.begin());
  c.time_offset = reader.get<double>("time_offset", 0, 0, 1e6);
  if (c.time_offset != 0 && c.stores_raw_keys()) {
    fail("{}: time_offset has no effect with key_times window; remove it", where);
  }
  c.history_keys =
      reader.choose("history_keys", "committed", {"committed", "recomputed"}) == "committed"
          ? HistoryKeys::kCommitted
          : HistoryKeys::kRecomputed;
  if (c.history_keys == HistoryKeys::kRecomputed && !c.stores_raw_keys()) {
    fail("{}: history_keys is recomputed; this requires key_times window", where);
  }
  c.given_in_chunk = reader.get<bool>("given_in_chunk", false);
  if (c.given_in_chunk && c.chunk_size < 2) {
    fail("{}: given_in_chunk requires a chunk_size of at least 2", where);
  }
  c.camera_at_start = reader.get<bool>("camera_at_start", false);
  c.target_time_gate = reader.get<double>("target_time_gate", 0, 0, 1);
  c.action_dim = reader.get<int64_t>("action_dim", 0, 0, 1 << 16);
  c.embodiments = reader.get<int64_t>("embodiments", 0, 0, 1 << 16);
  c.first_value_scale = reader.get<double>("first_value_scale", 1, -1e3, 1e3);
}

}  // namespace

RecurrentMapping TransformerConfig::recurrent_mapping() const {
  RecurrentMapping mapping;
  const auto memory = memory::make_recurrent_memory(recurrent_memory);
  if (memory == nullptr) return mapping;
  mapping.encoding = memory->encoding();
  if (mapping.encoding != memory::KeyEncoding::kRay) return mapping;
  mapping.ray = ray_encoding;
  mapping.blocks = std::ssize(hybrid_layers);
  mapping.heads = recurrent_heads();
  return mapping;
}

double TransformerConfig::beta_offset() const {
  return std::log(kda_start_beta / (2 - kda_start_beta));
}

bool TransformerConfig::is_hybrid(int64_t layer) const {
  return recurrent_memory != "none" &&
         std::find(hybrid_layers.begin(), hybrid_layers.end(), layer) != hybrid_layers.end();
}

camera::TokenGrid TransformerConfig::grid(int64_t latent_height, int64_t latent_width) const {
  if (latent_height % patch != 0 || latent_width % patch != 0) {
    fail("latents of {}x{} do not divide into patches of {}x{}; choose another frame size",
         latent_width, latent_height, patch, patch);
  }
  return {latent_height / patch, latent_width / patch};
}

TransformerConfig TransformerConfig::from_json(const Json& json, const std::string& where) {
  const ConfigReader reader(to_release_config(json, where), where);
  TransformerConfig config = from(reader);
  reader.finish();
  return config;
}

TransformerConfig TransformerConfig::from(const ConfigReader& reader) {
  const std::string& where = reader.where();
  TransformerConfig c;
  c.heads = reader.get<int64_t>("num_attention_heads", c.heads, 1, 1024);
  const auto head_dim = reader.get<int64_t>("attention_head_dim", kHeadChannels);
  if (head_dim != kHeadChannels) {
    fail("{}: attention_head_dim is {}; only heads of {} channels are supported", where, head_dim,
         kHeadChannels);
  }
  c.layers = reader.get<int64_t>("num_layers", c.layers, 1, 1000);
  c.channels = reader.get<int64_t>("in_channels", c.channels, 1, 4096);
  const auto out_channels = reader.get<int64_t>("out_channels", c.channels);
  if (out_channels != c.channels) {
    fail("{}: out_channels is {} and in_channels {}; they must be equal", where, out_channels,
         c.channels);
  }
  const auto patch = reader.get<std::vector<int64_t>>("patch_size", {1, c.patch, c.patch});
  if (patch.size() != 3 || patch[0] != 1 || patch[1] != patch[2] || patch[1] < 1 || patch[1] > 16) {
    fail("{}: patch_size is [{}]; expected [1, n, n]", where, fmt::join(patch, ", "));
  }
  c.patch = patch[1];
  c.ffn_dim = reader.get<int64_t>("ffn_dim", c.ffn_dim, 1, 1 << 20);
  c.text_dim = reader.get<int64_t>("text_dim", c.text_dim, 1, 1 << 16);
  c.text_len = reader.get<int64_t>("text_len", c.text_len, 1, 1 << 16);
  c.freq_dim = reader.get<int64_t>("freq_dim", c.freq_dim, 2, 1 << 16);
  if (c.freq_dim % 2 != 0) fail("{}: freq_dim is {}; it must be even", where, c.freq_dim);
  c.eps = reader.get<double>("eps", c.eps, 0.0, 1.0);
  c.chunk_size = reader.get<int64_t>("chunk_size", c.chunk_size, 1, 1024);
  c.camera_attn_compress =
      reader.get<int64_t>("camera_attn_compress", c.camera_attn_compress, 1, 1024);
  c.kda_translation_scale =
      reader.get<double>("kda_translation_scale", c.kda_translation_scale, 1e-6, 1e6);
  c.kda_min_retention = reader.get<double>("kda_min_retention", c.kda_min_retention, 0.1, 1.0);
  c.linear_guess = reader.get<std::vector<double>>("linear_guess", {});
  if (!c.linear_guess.empty() && std::ssize(c.linear_guess) != c.channels) {
    fail("{}: linear_guess has {} deviations; expected one for each of the {} channels", where,
         c.linear_guess.size(), c.channels);
  }
  for (const double deviation : c.linear_guess) {
    if (!(deviation > 0 && deviation < 1e3)) {
      fail("{}: linear_guess contains {}; expected deviations above 0 and below 1000", where,
           deviation);
    }
  }
  c.kda_phi_v_start = reader.get<double>("kda_phi_v_start", c.kda_phi_v_start, -1e3, 1e3);
  c.recurrent_memory =
      reader.choose("recurrent_memory", c.recurrent_memory, memory::recurrent_memory_names());
  const auto memory = memory::make_recurrent_memory(c.recurrent_memory);
  const memory::GateStart start = memory == nullptr ? memory::GateStart{} : memory->gate_start();
  c.kda_start_retention =
      reader.get<double>("kda_start_retention", start.retention, c.kda_min_retention, 1 - 1e-6);
  c.kda_start_beta = reader.get<double>("kda_start_beta", start.beta, 1e-4, 2 - 1e-4);
  c.recurrent_heads_per_head =
      reader.get<int64_t>("recurrent_heads_per_head", c.recurrent_heads_per_head, 1, 64);
  c.ray_encoding = RayEncoding::from(reader.section("ray_encoding"));
  c.quantization = reader.choose("quantization", c.quantization, {"none", "int8", "int4"});
  c.hybrid_layers = read_hybrid_layers(reader, c);
  if (c.hybrid_layers.empty()) c.recurrent_memory = "none";
  read_system(reader, c);
  if (!c.hybrid_layers.empty() &&
      (c.attention_map != AttentionMap::kRotary || c.key_times != memory::KeyTimes::kPolicy)) {
    fail(
        "{}: hybrid_layers requires attention_map rotary and key_times policy; list no hybrid "
        "layers",
        where);
  }
  // Keys of releases that have no effect here.
  reader.ignore({"_class_name", "_diffusers_version", "_name_or_path", "camera_image_scale",
                 "kda_image_scale", "rope_max_seq_len", "added_kv_proj_dim", "image_dim",
                 "pos_embed_seq_len"});
  if (reader.get<bool>("cross_attn_norm", true) != true) {
    fail("{}: cross_attn_norm is false; only true is supported", where);
  }
  reader.choose("qk_norm", "rms_norm_across_heads", {"rms_norm_across_heads"});

  if (c.camera_branch == CameraBranchKind::kRays && c.heads % c.camera_attn_compress != 0) {
    fail("{}: num_attention_heads {} is not a multiple of camera_attn_compress {}", where, c.heads,
         c.camera_attn_compress);
  }
  return c;
}

TransformerConfig TransformerConfig::load(const std::filesystem::path& file) {
  return from_json(load_json(file), file.string());
}

Json TransformerConfig::to_json() const {
  Json json = {{"_class_name", "LociTransformer3DModel"},
               {"num_attention_heads", heads},
               {"attention_head_dim", kHeadChannels},
               {"num_layers", layers},
               {"in_channels", channels},
               {"out_channels", channels},
               {"patch_size", {1, patch, patch}},
               {"ffn_dim", ffn_dim},
               {"text_dim", text_dim},
               {"text_len", text_len},
               {"freq_dim", freq_dim},
               {"eps", eps},
               {"cross_attn_norm", true},
               {"qk_norm", "rms_norm_across_heads"},
               {"chunk_size", chunk_size},
               {"hybrid_layers", hybrid_layers},
               {"camera_attn_compress", camera_attn_compress},
               {"kda_translation_scale", kda_translation_scale},
               {"kda_min_retention", kda_min_retention},
               {"kda_start_retention", kda_start_retention},
               {"kda_phi_v_start", kda_phi_v_start},
               {"recurrent_memory", recurrent_memory}};
  // Keys that other programs do not know are written only if they matter.
  const bool ray = recurrent_mapping().encoding == memory::KeyEncoding::kRay;
  if (ray) json["ray_encoding"] = ray_encoding.to_json();
  if (ray || kda_start_beta != 1) json["kda_start_beta"] = kda_start_beta;
  if (recurrent_heads_per_head != 1) json["recurrent_heads_per_head"] = recurrent_heads_per_head;
  if (!linear_guess.empty()) json["linear_guess"] = linear_guess;
  if (is_quantized()) json["quantization"] = quantization;
  const TransformerConfig plain;
  if (!system.empty()) json["system"] = system;
  if (attention_map != plain.attention_map) json["attention_map"] = "projection";
  if (camera_branch != plain.camera_branch) {
    json["camera_branch"] = kBranchNames[static_cast<size_t>(camera_branch)];
  }
  if (projection != plain.projection || tile_stride != plain.tile_stride || world_poses) {
    json["projection"] = {{"cameras_per_latent", projection.cameras_per_latent},
                          {"translation_scale", projection.translation_scale},
                          {"logarithmic", projection.logarithmic},
                          {"tile_stride", tile_stride}};
    if (projection.focal) json["projection"]["focal"] = *projection.focal;
    if (projection.bf16_image) json["projection"]["bf16_image"] = *projection.bf16_image;
    if (world_poses) json["projection"]["world_poses"] = true;
  }
  if (key_times != plain.key_times) {
    json["key_times"] = kTimesNames[static_cast<size_t>(key_times)];
  }
  if (time_offset != 0) json["time_offset"] = time_offset;
  if (history_keys != plain.history_keys) json["history_keys"] = "recomputed";
  if (given_in_chunk) json["given_in_chunk"] = true;
  if (camera_at_start) json["camera_at_start"] = true;
  if (target_time_gate != 0) json["target_time_gate"] = target_time_gate;
  if (action_dim != 0) json["action_dim"] = action_dim;
  if (embodiments != 0) json["embodiments"] = embodiments;
  if (first_value_scale != 1) json["first_value_scale"] = first_value_scale;
  return json;
}

}  // namespace loci::model
