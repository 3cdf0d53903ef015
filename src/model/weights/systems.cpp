// SPDX-License-Identifier: Apache-2.0
#include "loci/model/weights/systems.h"

#include <algorithm>
#include <set>

#include "loci/base/choice.h"
#include "loci/base/error.h"
#include "loci/model/weights/weight_names.h"

namespace loci::model {

namespace {

// Focal lengths of the constant lens of SolarWM and Astronex-World: a picture of 1920x1080 pixels
// with f = 969.697 pixels.
constexpr double kFocal = 969.6969696969696;

Json constant_lens() { return {{"focal", {kFocal / 1920, kFocal / 1080}}}; }

System solarwm() {
  return {"solarwm",
          "SolarWM-5B stage 2: causal, four steps",
          {{"chunk_size", 3},
           {"hybrid_layers", Json::array()},
           {"attention_map", "projection"},
           {"camera_branch", "none"},
           {"projection", constant_lens()},
           {"key_times", "window"},
           {"given_in_chunk", true},
           {"camera_at_start", true}},
          {{"width", 864},
           {"height", 480},
           {"fps", 16},
           {"fov", 89.4},
           {"solver", "renoise-bf16"},
           {"steps", 4},
           {"shift", 5},
           {"history", "window"},
           {"history_frames", 15},
           {"sink_frames", 0},
           {"commit_level", 0}}};
}

System solarwm_anyflow() {
  System system = solarwm();
  system.name = "solarwm-anyflow";
  system.description = "SolarWM-5B stage 1: flow map, history computed again for each chunk";
  system.config["target_time_gate"] = 0.25;
  system.config["history_keys"] = "recomputed";
  system.generation["solver"] = "euler";
  return system;
}

System astronex() {
  return {"astronex",
          "Astronex-World 1.0: causal, eight steps, guidance, retrieval by view overlap",
          {{"chunk_size", 8},
           {"hybrid_layers", Json::array()},
           {"camera_branch", "projection"},
           {"projection", constant_lens()},
           {"given_in_chunk", true},
           {"action_dim", 64},
           {"embodiments", 32},
           {"first_value_scale", 1.1}},
          {{"width", 832},
           {"height", 480},
           {"fps", 24},
           {"fov", 89.4},
           {"guidance", 3},
           {"solver", "unipc"},
           {"steps", 8},
           {"shift", 10},
           {"history", "frustum"},
           {"history_frames", 12},
           {"sink_frames", 4},
           {"commit_level", 0}}};
}

System matrix_game() {
  return {"matrix-game",
          "Matrix-Game 3.5 Distilled: causal, three steps, guidance, four cameras per latent",
          {{"chunk_size", 3},
           {"hybrid_layers", Json::array()},
           {"attention_map", "projection"},
           {"camera_branch", "none"},
           {"projection",
            {{"cameras_per_latent", 4},
             {"logarithmic", true},
             {"tile_stride", 2},
             {"world_poses", true},
             {"bf16_image", {1280, 704}}}},
           {"key_times", "own"},
           {"time_offset", 1}},
          {{"width", 1280},
           {"height", 704},
           {"fps", 16},
           {"guidance", 3},
           {"solver", "renoise-rounded"},
           {"steps", 3},
           {"shift", 5},
           {"history", "window"},
           {"history_frames", 19},
           {"sink_frames", 0},
           {"commit_level", 0}}};
}

// Only the forward pass: the base model generates blocks of 84 frames in one bidirectional pass.
System matrix_game_base() {
  System system = matrix_game();
  system.name = "matrix-game-base";
  system.description = "Matrix-Game 3.5 Base: one bidirectional pass per block; no streams";
  system.config["projection"] = {{"cameras_per_latent", 4},
                                 {"translation_scale", 50},
                                 {"tile_stride", 2},
                                 {"world_poses", true}};
  system.config["time_offset"] = 0;
  system.streams = false;
  return system;
}

bool any_with(std::span<const std::string> names, std::string_view part) {
  return std::ranges::any_of(
      names, [&](const std::string& name) { return name.find(part) != std::string::npos; });
}

}  // namespace

const std::vector<System>& systems() {
  static const std::vector<System> all = {solarwm(), solarwm_anyflow(), astronex(), matrix_game(),
                                          matrix_game_base()};
  return all;
}

std::vector<std::string> system_names() {
  std::vector<std::string> names = {""};
  for (const System& system : systems()) names.push_back(system.name);
  return names;
}

const System* find_system(std::string_view name) {
  const auto found = std::ranges::find(systems(), name, &System::name);
  return found == systems().end() ? nullptr : &*found;
}

std::string identify_system(std::span<const std::string> names, const std::string& where) {
  if (any_with(names, ".to_out_prope.") && any_with(names, "action_embedder.linear_1")) {
    fail("{}: the tensors are those of HY-WorldPlay, which is not supported", where);
  }
  if (any_with(names, "subject_ref_type_embedding")) return "matrix-game-base";
  if (any_with(names, ".self_attn.prope_o.")) return "astronex";
  if (any_with(names, "delta_embedding.")) return "solarwm-anyflow";
  // Of the systems without own parameters, only SolarWM publishes averaged weights in a dictionary.
  const bool averaged = std::ranges::any_of(
      names, [](const std::string& name) { return name.starts_with("generator_ema."); });
  return averaged ? "solarwm" : "";
}

Json sizes_from_tensors(const io::Checkpoint& weights) {
  Json sizes = Json::object();
  std::set<std::string> blocks;  // live and averaged weights have the same names
  for (const io::TensorInfo& info : weights.tensors()) {
    const std::string name = to_release_name(info.name);
    const auto& shape = info.shape;
    if (name == "patch_embedding.weight" && shape.size() == 5) {
      sizes["num_attention_heads"] = shape[0] / 128;
      sizes["in_channels"] = shape[1];
      sizes["patch_size"] = {shape[2], shape[3], shape[4]};
    } else if (name == "condition_embedder.text_embedder.linear_1.weight" && shape.size() == 2) {
      sizes["text_dim"] = shape[1];
    } else if (name == "condition_embedder.time_embedder.linear_1.weight" && shape.size() == 2) {
      sizes["freq_dim"] = shape[1];
    } else if (name == "blocks.0.ffn.net.0.proj.weight" && shape.size() == 2) {
      sizes["ffn_dim"] = shape[0];
    }
    constexpr std::string_view kLast = ".scale_shift_table";
    if (name.starts_with("blocks.") && name.ends_with(kLast)) blocks.insert(name);
  }
  if (!sizes.contains("in_channels")) {
    fail(
        "{}: the file has no tensor patch_embedding.weight; expected a transformer of the Wan "
        "family",
        weights.path().string());
  }
  if (!blocks.empty()) sizes["num_layers"] = blocks.size();
  return sizes;
}

Json with_system(Json json, const std::string& system, const std::string& where) {
  std::string name = system;
  if (const auto found = json.find("system"); found != json.end() && !found->is_null()) {
    if (!found->is_string()) fail("{}: system must be a string", where);
    name = found->get<std::string>();
  }
  if (name.empty()) return json;
  const System* known = find_system(name);
  if (known == nullptr) fail("{}: {}", where, unknown_choice("system", name, system_names()));
  Json merged = known->config;
  merged["system"] = name;
  merged.update(json);
  return merged;
}

}  // namespace loci::model
