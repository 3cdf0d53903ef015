// SPDX-License-Identifier: Apache-2.0
#include "loci/sample/model_folder.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/model/text/text_prompts.h"
#include "loci/model/weights/systems.h"
#include "loci/model/weights/weights.h"

namespace loci::sample {

namespace fs = std::filesystem;

namespace {

fs::path vae_path(const fs::path& folder) {
  if (fs::exists(folder / "vae")) return folder / "vae";
  if (fs::exists(folder / "Wan2.2_VAE.pth")) return folder / "Wan2.2_VAE.pth";
  fail("{} has no autoencoder; expected vae/ or Wan2.2_VAE.pth", folder.string());
}

model::TransformerConfig read_config(const fs::path& folder) {
  if (!fs::is_directory(folder)) {
    fail("{} is not a model folder; expected a folder with config.json, weights and vae/",
         folder.string());
  }
  const model::ModelFiles files = model::open_model(folder);
  if (!files.weights)
    fail(
        "{} has no transformer weights; expected diffusion_pytorch_model*.safetensors or *.gguf "
        "beside config.json",
        folder.string());
  if (const model::System* system = model::find_system(files.config.system);
      system != nullptr && !system->streams) {
    fail("{}: {} ({}) cannot generate videos here; see docs/models.md", folder.string(),
         system->name, system->description);
  }
  return files.config;
}

}  // namespace

GenerationDefaults GenerationDefaults::load(const fs::path& folder, const std::string& system) {
  GenerationDefaults d;
  const fs::path file = folder / "generation.json";
  const model::System* known = model::find_system(system);
  Json json = known == nullptr ? Json::object() : known->generation;
  if (fs::exists(file)) {
    const Json own = load_json(file);
    const ConfigReader object(own, file.string());
    json.update(object.json());
  }
  const ConfigReader reader(json, file.string());
  d.width = reader.get<int64_t>("width", d.width, 16, 16384);
  d.height = reader.get<int64_t>("height", d.height, 16, 16384);
  d.fps = reader.get<double>("fps", d.fps, 1, 1000);
  d.fov = reader.get<double>("fov", d.fov, 1, 179);
  d.guidance = reader.get<double>("guidance", d.guidance, 0, 100);
  d.solver.kind = reader.choose("solver", d.solver.kind, solver_names());
  d.solver.steps = reader.get<int64_t>("steps", d.solver.steps, 1, 1000);
  d.solver.shift = reader.get<double>("shift", d.solver.shift, 1e-3, 1000);
  d.history = reader.choose("history", d.history, memory::history_names());
  d.history_frames = reader.get<int64_t>("history_frames", d.history_frames, 1, 1 << 20);
  d.archive = reader.get<int64_t>("archive", d.archive, 0, 1'000'000);
  d.sink_frames = reader.get<int64_t>("sink_frames", d.sink_frames, 0, 1'000'000);
  d.commit_level = reader.get<double>("commit_level", d.commit_level, 0, 0.999);
  d.family = reader.get<std::string>("family", d.family);
  reader.finish();
  return d;
}

fs::path prompt_cache() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return fs::path(value == nullptr ? "" : value);
  };
  if (const fs::path cache = variable("LOCI_CACHE"); !cache.empty()) return cache / "prompts";
  if (const fs::path cache = variable("XDG_CACHE_HOME"); !cache.empty()) {
    return cache / "loci" / "prompts";
  }
  if (const fs::path home = variable("HOME"); !home.empty()) {
    return home / ".cache" / "loci" / "prompts";
  }
  return {};
}

ModelFolder::ModelFolder(fs::path folder, at::ScalarType dtype, fs::path decoder)
    : path_(std::move(folder)),
      dtype_(dtype),
      config_(read_config(path_)),
      defaults_(GenerationDefaults::load(path_, config_.system)),
      vae_path_(vae_path(path_)),
      decoder_path_(std::move(decoder)) {}

const model::Transformer& ModelFolder::transformer() const {
  if (!transformer_) {
    model::LoadOptions options;
    options.dtype = dtype_;
    transformer_ = model::load_model(path_, options).transformer;
    transformer_->pack();
  }
  return *transformer_;
}

const model::Vae& ModelFolder::vae() const {
  if (vae_) return *vae_;
  std::shared_ptr<const model::TinyDecoder> decoder;
  if (!decoder_path_.empty()) {
    decoder = std::make_shared<model::TinyDecoder>(model::TinyDecoder::load(decoder_path_));
    decoder->check(vae_config());
  }
  vae_ = model::Vae::load(vae_path_);
  if (decoder != nullptr) vae_->use_decoder(std::move(decoder));
  return *vae_;
}

const ModelHashes& ModelFolder::hashes() const {
  if (!hashes_) hashes_ = hash_models(transformer(), &vae());
  return *hashes_;
}

model::VaeConfig ModelFolder::vae_config() const {
  const fs::path file = vae_path_ / "config.json";
  if (!fs::exists(file)) return model::VaeConfig::wan22();
  return model::VaeConfig::from_json(load_json(file), file.string());
}

bool ModelFolder::has_text_encoder() const { return model::has_prompt_files(path_); }

Prompt ModelFolder::prompt(const std::string& text, const std::string& negative) const {
  Prompt prompt{text, {}, negative, {}};
  if (!has_text_encoder()) {
    if (!text.empty() || !negative.empty()) {
      fail("{} has no text encoder; leave the prompt empty", path_.string());
    }
    return prompt;
  }
  model::PromptOptions options = model::find_prompt_files(path_);
  options.text_len = config_.text_len;
  options.cache = prompt_cache();
  const std::array<std::string, 2> texts = {text, negative};
  const std::vector<at::Tensor> embeddings = model::encode_prompts(texts, options);
  prompt.embedding = embeddings[0];
  prompt.negative_embedding = embeddings[1];
  return prompt;
}

std::pair<int64_t, int64_t> ModelFolder::latent_size(int64_t height, int64_t width) const {
  const int64_t factor = vae_config().spatial_factor(), side = factor * config_.patch;
  if (height < side || width < side || height % side != 0 || width % side != 0) {
    const auto near = [side](int64_t x) { return std::max(side, (x + side / 2) / side * side); };
    fail("{}x{} pixels do not divide into tokens of {} pixels; choose {}x{}", width, height, side,
         near(width), near(height));
  }
  return {height / factor, width / factor};
}

}  // namespace loci::sample
