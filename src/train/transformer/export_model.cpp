// SPDX-License-Identifier: Apache-2.0
#include "loci/train/transformer/export_model.h"

#include <cmath>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/log.h"
#include "loci/camera/lens.h"
#include "loci/model/autoencoder/vae.h"
#include "loci/model/weights/weights.h"
#include "loci/train/data/latent_folder.h"
#include "loci/train/loop/run_folder.h"
#include "loci/train/transformer/transformer_recipe.h"

namespace loci::train {

namespace fs = std::filesystem;

namespace {

// The style of all training data, from their manifests; empty if they have several or none.
std::string family_of(const TransformerRecipe& config) {
  std::string family;
  for (const auto& phase : config.phases) {
    for (const auto& data : phase.data) {
      const fs::path manifest = fs::path(data.folder) / "manifest.json";
      if (!fs::exists(manifest)) return "";
      const Json style = load_json(manifest).value("style", Json());
      if (!style.is_string() || (!family.empty() && style != family)) return "";
      family = style;
    }
  }
  return family;
}

// Settings for generation: frame size, lens and family of the training data; none if the data no
// longer exist.
std::optional<Json> generation_settings(const TransformerRecipe& config,
                                        const model::VaeConfig& vae) {
  const fs::path& data = config.phases.front().data.front().folder;
  if (!fs::is_directory(data)) return std::nullopt;
  const LatentFolder clips(data, config.loop.seed);
  const std::vector<int64_t> shape = clips.latent_shape();
  const double fov = camera::degrees(clips.window(0, 1).cameras.front().lens.fov_x);
  Json settings = {{"width", shape[2] * vae.spatial_factor()},
                   {"height", shape[1] * vae.spatial_factor()},
                   {"fov", std::round(10 * fov) / 10},
                   {"steps", config.validation.steps}};
  if (const std::string family = family_of(config); !family.empty()) settings["family"] = family;
  return settings;
}

}  // namespace

void export_model(const fs::path& run, const fs::path& out, const ExportOptions& options) {
  if (!fs::is_directory(run)) fail("{} is not the folder of a training run", run.string());
  const RunFolder folder(run);
  const std::optional<int64_t> update = folder.find_intact(/*set_aside=*/false);
  if (!update) fail("{} contains no checkpoint yet; train first", run.string());
  const SavedState state = folder.open(*update);
  const TransformerRecipe config = TransformerRecipe::from_json(state.config, run.string());
  std::vector<model::Parameter> transformer;
  io::NamedTensors text;
  const io::SafetensorsFile& weights = options.ema ? state.ema : state.model;
  for (const io::TensorInfo& info : weights.tensors()) {
    const at::Tensor tensor = weights.tensor(info.name).to(options.dtype);
    if (info.name.starts_with(kTextEncoderPrefix)) {
      text.emplace_back(info.name.substr(kTextEncoderPrefix.size()), tensor);
    } else {
      transformer.push_back({info.name, tensor});
    }
  }
  AtomicDirectory target(out, options.replace ? AtomicDirectory::Existing::kReplace
                                              : AtomicDirectory::Existing::kRefuse);
  model::save_model(config.model, transformer, target.temporary() / "transformer",
                    {.dtype = options.dtype});
  if (!text.empty()) {
    const fs::path folder = target.temporary() / "text_encoder";
    fs::create_directories(folder);
    io::write_safetensors(folder / "model.safetensors", text);
    write_file(folder / "config.json", config.text.trained->to_json().dump(2) + "\n");
    write_file(folder / "tokenizer_config.json",
               Json{{"tokenizer_class", "ByteTokenizer"}}.dump(2) + "\n");
  }
  if (!options.vae.empty()) {
    const model::Vae vae = model::Vae::load(options.vae);
    fs::create_directories(target.temporary() / "vae");
    vae.save(target.temporary() / "vae", options.dtype);
    if (const std::optional<Json> settings = generation_settings(config, vae.config())) {
      write_file(target.temporary() / "generation.json", settings->dump(2) + "\n");
    } else {
      log_warning("{}: the training data no longer exist; write the frame size into {} yourself",
                  run.string(), (out / "generation.json").string());
    }
  }
  target.commit();
}

}  // namespace loci::train
