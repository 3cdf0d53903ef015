// SPDX-License-Identifier: Apache-2.0
#include "loci/train/autoencoder/vae_recipe.h"

#include "loci/camera/time_grid.h"
#include "loci/model/autoencoder/vae.h"
#include "loci/model/perceptual/lpips.h"

namespace loci::train {

namespace {

LoopConfig vae_defaults() {
  LoopConfig defaults;
  defaults.updates = 1000;
  defaults.batch = 2;
  defaults.validation_every = 250;
  defaults.optimizer.learning_rates = {{ParameterGroup::kBackbone, 1e-3}};
  defaults.optimizer.muon_learning_rate = 0.02;
  defaults.optimizer.beta2 = 0.99;
  defaults.optimizer.clip = 1;
  defaults.optimizer.warmup_updates = 50;
  defaults.optimizer.decay_updates = 0;  // the number of updates
  defaults.optimizer.final_share = 0.05;
  return defaults;
}

void check_clip_length(const std::string& what, int64_t frames, const model::VaeConfig& model) {
  if (camera::TimeGrid{model.temporal_factor()}.whole_latents(frames)) return;
  fail("{} is {}; expected 1 + a multiple of {}", what, frames, model.temporal_factor());
}

VaePhase read_vae_phase(const ConfigReader& reader, const VaeRecipe& recipe) {
  const VideoClipsConfig& data = recipe.data;
  VaePhase phase;
  phase.frames = reader.get<int64_t>("frames", phase.frames, 1, 1000);
  phase.width = reader.get<int64_t>("width", data.width, 1, data.width);
  phase.height = reader.get<int64_t>("height", data.height, 1, data.height);
  recipe.model.check_frame_size(phase.height, phase.width);
  check_clip_length(reader.where() + ": frames", phase.frames, recipe.model);
  return phase;
}

// Reads "encoder", which adds an encoder network to the block transform in start, and "decoder",
// which replaces the decoder network.
void read_new_networks(const ConfigReader& reader, VaeRecipe& recipe) {
  const std::string& where = reader.where();
  for (const char* key : {"encoder", "decoder"}) {
    if (!reader.has(key) || (!recipe.start.empty() && recipe.model.block_transform)) continue;
    fail("{}: {} changes a network above the block transform in start; for a new model, set {}",
         where, key,
         std::string_view(key) == "encoder" ? "model.base_dim" : "model.decoder_base_dim");
  }
  if (reader.has("encoder")) {
    if (recipe.model.encoder_correction) {
      fail("{}: {} already has an encoder network; remove encoder", where, recipe.start.string());
    }
    recipe.model.encoder_correction = true;
    recipe.model.base_dim = reader.section("encoder").get<int64_t>("base_dim", 32, 1, 8192);
  }
  if (reader.has("decoder")) {
    recipe.new_decoder = true;
    recipe.model.decoder_base_dim = reader.section("decoder").get<int64_t>("base_dim", 64, 1, 8192);
    recipe.model.refiner_dim = 0;
  }
}

// Reads "model", or takes it from "start" and adds "refiner", "channels", "encoder" and "decoder".
void read_model(const ConfigReader& reader, VaeRecipe& recipe) {
  const std::string& where = reader.where();
  reader.ignore({"model", "refiner", "channels", "encoder", "decoder"});
  recipe.start = reader.get<std::string>("start", "");
  recipe.decoder_only = reader.get<bool>("decoder_only", recipe.decoder_only);
  if (recipe.start.empty()) {
    recipe.model = model::VaeConfig::from_json(reader.json().value("model", Json::object()),
                                               where + ": model");
    if (recipe.decoder_only) fail("{}: decoder_only needs a trained encoder; set start", where);
  } else {
    if (reader.has("model")) {
      fail("{}: with start, the sizes are those of {}; remove model", where, recipe.start.string());
    }
    recipe.model = model::Vae::load(recipe.start).config();
  }
  read_new_networks(reader, recipe);
  if (!recipe.start.empty()) {
    if (reader.has("refiner") && recipe.model.refiner_dim > 0) {
      fail("{}: {} already has a refiner; remove refiner", where, recipe.start.string());
    }
  }
  if (reader.has("refiner")) {
    if (recipe.start.empty()) {
      fail(
          "{}: refiner adds a refiner to the autoencoder in start; for a new model, set "
          "model.refiner_dim",
          where);
    }
    const ConfigReader refiner = reader.section("refiner");
    recipe.model.refiner_dim = refiner.get<int64_t>("dim", 48, 1, 8192);
    recipe.model.refiner_blocks = refiner.get<int64_t>("blocks", 2, 1, 16);
  }
  if (reader.has("channels")) {
    const int64_t before = recipe.model.z_dim;
    if (recipe.start.empty() || !recipe.model.block_transform) {
      fail(
          "{}: channels adds channels to the block transform in start; for a new model, set "
          "model.z_dim",
          where);
    }
    recipe.model.z_dim = reader.get<int64_t>("channels", before, before + 1, 4096);
    recipe.kept_channels = before;
    recipe.model.latents_mean.resize(static_cast<size_t>(recipe.model.z_dim), 0.0);
    recipe.model.latents_std.resize(static_cast<size_t>(recipe.model.z_dim), 1.0);
  }
  // A transform without an encoder network has nothing to train.
  recipe.decoder_only = recipe.decoder_only || !recipe.model.has_encoder();
}

void check_world_model(const VaeRecipe& recipe, const std::string& where) {
  if (!recipe.decoder_only || recipe.start.empty()) {
    fail(
        "{}: world_model trains the decoder of the autoencoder that it was trained with; set "
        "start and decoder_only",
        where);
  }
  if (!recipe.data.folder.empty()) {
    fail("{}: world_model needs cameras, which videos lack; remove data.folder", where);
  }
  for (const VaePhase& phase : recipe.phases) {
    if (phase.width == recipe.data.width && phase.height == recipe.data.height) continue;
    fail("{}: world_model needs whole frames; remove width and height from the phases", where);
  }
}

// Clips that are too small or too short for a loss.
void check_losses(const VaeRecipe& recipe, const std::string& where) {
  for (size_t i = 0; i < recipe.phases.size(); ++i) {
    const VaePhase& phase = recipe.phases[i];
    if (recipe.lpips.weight > 0 && std::min(phase.width, phase.height) < model::Lpips::kMinSide) {
      fail("{}: loss.lpips needs frames of at least {}x{} pixels; phase {} has {}x{}", where,
           model::Lpips::kMinSide, model::Lpips::kMinSide, i, phase.width, phase.height);
    }
    const bool ends_before =
        i + 1 < recipe.phases.size() && recipe.loop.phases[i + 1].from <= recipe.adversarial.from;
    const AdversarialConfig& adversarial = recipe.adversarial;
    if (adversarial.weight == 0 || ends_before) continue;
    if (phase.frames < adversarial.parts.stack) {
      fail(
          "{}: loss.adversarial judges {} frames at once; phase {} has clips of {}: raise "
          "loss.adversarial.from to the update after this phase, or its frames",
          where, adversarial.parts.stack, i, phase.frames);
    }
    const int64_t side = std::min(phase.width, phase.height);
    const int64_t seen = adversarial.parts.crop > 0 ? std::min(adversarial.parts.crop, side) : side;
    if (const int64_t least = int64_t{1} << adversarial.layers; seen < least) {
      fail(
          "{}: loss.adversarial with {} layers needs pictures of at least {}x{} pixels; phase {} "
          "has {}",
          where, adversarial.layers, least, least, i, seen);
    }
  }
}

}  // namespace

VaeRecipe VaeRecipe::from_json(const Json& json, const std::string& where) {
  const ConfigReader reader(json, where);
  VaeRecipe recipe;
  recipe.source = json;
  recipe.loop = LoopConfig::from(reader, vae_defaults());
  read_model(reader, recipe);
  recipe.world_model = reader.get<std::string>("world_model", "");
  recipe.transform_clips =
      reader.get<int64_t>("transform_clips", recipe.transform_clips, 1, 1 << 30);
  recipe.data = VideoClipsConfig::from(reader.section("data"));
  recipe.model.check_frame_size(recipe.data.height, recipe.data.width);
  recipe.loss = VaeLossWeights::from(reader.section("loss"));
  recipe.lpips = LpipsLossConfig::from_section(reader.section("loss").section("lpips"));
  recipe.adversarial =
      AdversarialConfig::from_section(reader.section("loss").section("adversarial"));
  for (const ConfigReader& phase : phase_sections(reader)) {
    recipe.phases.push_back(read_vae_phase(phase, recipe));
  }
  check_losses(recipe, where);
  if (!recipe.world_model.empty()) check_world_model(recipe, where);
  const ConfigReader validation = reader.section("validation");
  recipe.validation.clips = validation.get<int64_t>("clips", recipe.validation.clips, 1, 10'000);
  recipe.validation.frames = validation.get<int64_t>("frames", recipe.validation.frames, 1, 1000);
  recipe.validation.lpips = validation.get<std::string>("lpips", recipe.lpips.file.string());
  if (!recipe.validation.lpips.empty() &&
      std::min(recipe.data.width, recipe.data.height) < model::Lpips::kMinSide) {
    fail("{}: LPIPS needs frames of at least {}x{} pixels; those of the data are {}x{}",
         validation.where(), model::Lpips::kMinSide, model::Lpips::kMinSide, recipe.data.width,
         recipe.data.height);
  }
  check_clip_length(validation.where() + ".frames", recipe.validation.frames, recipe.model);
  reader.finish();
  return recipe;
}

}  // namespace loci::train
