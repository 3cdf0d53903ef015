// SPDX-License-Identifier: Apache-2.0
#include "loci/model/weights/weights.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/io/tensors/safetensors.h"
#include "loci/model/weights/foreign_config.h"
#include "loci/model/weights/systems.h"

namespace loci::model {

namespace fs = std::filesystem;

namespace {

constexpr const char* kConfigKey = "loci.config";

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool has_weights(const fs::path& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.')) continue;
    for (const std::string_view suffix :
         {".safetensors", ".safetensors.index.json", ".gguf", ".pth", ".pt"}) {
      if (name.ends_with(suffix)) return true;
    }
  }
  return false;
}

// The config of `json` and `overrides`. If neither names the system, the tensors tell it.
TransformerConfig parse_config(const Json& json, const Json& overrides, const std::string& where,
                               const std::optional<io::Checkpoint>& weights = {}) {
  const std::string system =
      weights ? identify_system(weights->names(), weights->path().string()) : "";
  Json own = json;
  // Configs of Astronex-World may name the type of Wan's other transformers; the tensors are those
  // of ti2v.
  if (!system.empty() && own.is_object() && own.contains("model_type") &&
      own["model_type"] == "i2v") {
    own["model_type"] = "ti2v";
  }
  Json merged = to_release_config(own, where);
  merged.update(overrides);
  if (!merged.contains("system")) merged = with_system(merged, system, where);
  return TransformerConfig::from_json(merged, where);
}

// A checkpoint without a config.json: the tensors tell the sizes and the system.
ModelFiles from_tensors(io::Checkpoint weights, const Json& overrides) {
  ModelFiles files;
  files.config_source = fmt::format("sizes of the tensors in {}", weights.path().string());
  files.weights = std::move(weights);
  files.config = parse_config(sizes_from_tensors(*files.weights), overrides, files.config_source,
                              files.weights);
  return files;
}

// Whether the tensors alone tell which system the model belongs to.
bool names_its_system(const io::Checkpoint& weights) {
  return !identify_system(weights.names(), weights.path().string()).empty();
}

ModelFiles open_folder(const fs::path& folder, const Json& overrides) {
  const fs::path config = folder / "config.json";
  if (is_there(config)) {
    ModelFiles files;
    if (has_weights(folder)) files.weights = io::Checkpoint::open(folder);
    files.config_source = config.string();
    files.config = parse_config(load_json(config), overrides, config.string(), files.weights);
    return files;
  }
  // Published folders without config.json: a file model.pt, possibly beside the base model in
  // transformer/; or shards beside transformer/config.json.
  if (is_there(folder / "model.pt")) {
    return from_tensors(io::Checkpoint::open(folder / "model.pt"), overrides);
  }
  const fs::path nested = folder / "transformer" / "config.json";
  if (is_there(nested)) {
    if (has_weights(folder / "transformer") || !is_there(folder / "model.safetensors.index.json")) {
      return open_folder(folder / "transformer", overrides);
    }
    ModelFiles files;
    files.weights = io::Checkpoint::open(folder / "model.safetensors.index.json");
    files.config_source = nested.string();
    files.config = parse_config(load_json(nested), overrides, nested.string(), files.weights);
    return files;
  }
  fail("{}: the folder has no config.json; give a model's folder or its weights file",
       folder.string());
}

ModelFiles open_weights(const fs::path& path, const Json& overrides) {
  ModelFiles files;
  files.weights = io::Checkpoint::open(path);
  const fs::path beside = path.parent_path() / "config.json";
  const auto& metadata = files.weights->metadata();
  Json json = Json::object();
  if (is_there(beside)) {
    files.config_source = beside.string();
    json = load_json(beside);
  } else if (const auto found = metadata.find(kConfigKey); found != metadata.end()) {
    files.config_source = fmt::format("{}: {}", path.string(), kConfigKey);
    json = parse_json(found->second, files.config_source);
  } else if (names_its_system(*files.weights)) {
    return from_tensors(*files.weights, overrides);
  } else {
    files.config_source = "the 5B model's sizes (the folder of the file has no config.json)";
  }
  files.config = parse_config(json, overrides, files.config_source, files.weights);
  return files;
}

// The tensors of a checkpoint under the release's names.
struct Renamed {
  std::map<std::string, std::string> stored;  // release name → name in the checkpoint
  std::vector<std::string> available;         // release names, in the checkpoint's order
  WeightLayout layout = WeightLayout::kRelease;
};

// The dictionary that holds the weights in a file of a training program. If there are live and
// averaged weights, the authors of Astronex-World use the live ones, all others the averaged ones.
// Empty if the names are not in such dictionaries.
std::string section_of(std::span<const std::string> names, const std::string& where) {
  std::array<const char*, 2> sections = {"generator_ema.", "generator."};
  if (identify_system(names, where) == "astronex") std::swap(sections[0], sections[1]);
  for (const char* section : sections) {
    if (std::ranges::any_of(names, [&](const auto& name) { return name.starts_with(section); })) {
      return section;
    }
  }
  return "";
}

Renamed rename_tensors(const io::Checkpoint& weights) {
  Renamed renamed;
  const std::vector<std::string> names = weights.names();
  renamed.layout = detect_layout(names);
  const std::string section = section_of(names, weights.path().string());
  for (const std::string& name : names) {
    if (!name.starts_with(section)) continue;
    const std::string release = to_release_name(name);
    if (release.empty()) continue;
    const auto [other, fresh] = renamed.stored.emplace(release, name);
    if (!fresh) {
      fail("{}: '{}' and '{}' are the same parameter, {}; the checkpoint is ambiguous",
           weights.path().string(), io::printable(other->second), io::printable(name),
           io::printable(release));
    }
    renamed.available.push_back(release);
  }
  return renamed;
}

// Removes the branches that a plain checkpoint does not have from the report; true if there are
// any.
bool accept_new_branches(const TransformerConfig& config, WeightLayout layout, LoadReport& report) {
  if (!is_plain(layout) || !config.system.empty()) return false;
  return std::erase_if(report.missing, [](const std::string& name) {
           return part_of(name) != ModelPart::kBase;
         }) > 0;
}

// Rejects differences that the options do not allow.
void check_report(const LoadReport& report, const io::Checkpoint& weights,
                  const LoadOptions& options) {
  if (report.clean()) return;
  LoadReport refused = report;
  if (options.allow_missing) refused.missing.clear();
  if (options.allow_unexpected) refused.unexpected.clear();
  if (options.allow_misshapen) refused.misshapen.clear();
  if (!refused.clean()) {
    fail("{} does not fit the model's config; tensors {}", weights.path().string(), refused.text());
  }
  log_warning("{} does not fit the model's config, as allowed; tensors {}", weights.path().string(),
              report.text());
}

}  // namespace

ModelFiles open_model(const fs::path& path, const Json& overrides) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return open_folder(path, overrides);
  const std::string name = path.filename().string();
  if (name.ends_with(".json") && !name.ends_with(".index.json")) {
    return {parse_config(load_json(path), overrides, path.string()), path.string(), {}};
  }
  return open_weights(path, overrides);
}

LoadedModel load_model(const fs::path& path, const LoadOptions& options) {
  const ModelFiles files = open_model(path, options.overrides);
  if (!files.weights) {
    fail("{}: there are no weights in the folder of {}", path.string(), files.config_source);
  }
  return load_model(files.config, *files.weights, options);
}

LoadedModel load_model(const TransformerConfig& config, const io::Checkpoint& weights,
                       const LoadOptions& options) {
  const Renamed renamed = rename_tensors(weights);
  const auto source = [&](const std::string& name) {
    const auto found = renamed.stored.find(name);
    return found == renamed.stored.end() ? at::Tensor() : weights.tensor(found->second);
  };
  const at::NoGradGuard no_grad;
  auto parameters =
      std::make_shared<Parameters>(Parameters::Options{.dtype = options.dtype,
                                                       .device = options.device,
                                                       .seed = options.seed,
                                                       .gguf_shapes = weights.is_gguf()},
                                   source);
  Transformer transformer(config, parameters);
  parameters->release_source();
  LoadReport report = parameters->report(renamed.available);
  const bool created = accept_new_branches(config, renamed.layout, report);
  check_report(report, weights, options);
  if (created) {
    log_info("{}: a plain Wan checkpoint; its camera and recurrent branches start untrained",
             weights.path().string());
  }
  return {std::move(transformer), renamed.layout, created, std::move(report)};
}

FitReport check_fit(const TransformerConfig& config, const io::Checkpoint& weights) {
  const Renamed renamed = rename_tensors(weights);
  const auto source = [&](const std::string& name) {
    const auto found = renamed.stored.find(name);
    return found == renamed.stored.end() ? at::Tensor() : weights.meta(found->second);
  };
  auto parameters = std::make_shared<Parameters>(
      Parameters::Options{
          .dtype = at::kFloat, .device = at::kMeta, .gguf_shapes = weights.is_gguf()},
      source);
  const Transformer transformer(config, parameters);
  FitReport fit{renamed.layout, false, parameters->report(renamed.available)};
  fit.new_branches = accept_new_branches(config, fit.layout, fit.report);
  return fit;
}

namespace {

// Names of the weights that may be quantized.
std::set<std::string> large_weights(const TransformerConfig& config) {
  Transformer transformer(config, std::make_shared<Parameters>(Parameters::Options{
                                      .dtype = at::kFloat, .device = at::kMeta}));
  std::set<std::string> names;
  transformer.visit_large([&](const Linear& linear) { names.insert(linear.name + ".weight"); });
  return names;
}

}  // namespace

void save_model(const TransformerConfig& config, const std::vector<Parameter>& parameters,
                const fs::path& folder, const SaveOptions& options) {
  LOCI_CHECK(options.dtype == at::kFloat || options.dtype == at::kBFloat16,
             "weights are written in FP32 or BF16, not {}", at::toString(options.dtype));
  const bool quantize = options.quantize != kernels::WeightFormat::kBfloat16;
  LOCI_CHECK(!config.is_quantized(), "weights are quantized already");
  LOCI_CHECK(!quantize || !is_plain(options.layout), "a plain layout has no quantized weights");
  AtomicDirectory output(folder, options.existing);
  const std::set<std::string> large = quantize ? large_weights(config) : std::set<std::string>();
  io::NamedTensors tensors;
  for (const Parameter& parameter : parameters) {
    check_interrupt();
    const std::string name = from_release_name(parameter.name, options.layout);
    if (name.empty()) continue;
    if (!large.contains(parameter.name)) {
      tensors.emplace_back(name, parameter.tensor.detach().to(options.dtype));
      continue;
    }
    const kernels::QuantizedWeight numbers =
        kernels::quantize_weight(parameter.tensor, options.quantize);
    tensors.emplace_back(name, numbers.data);
    tensors.emplace_back(name + "_scale", numbers.scale);
  }
  const bool training = options.layout == WeightLayout::kTraining;
  io::Metadata metadata = {{"format", "pt"}};
  if (quantize) metadata["loci.quantization"] = kernels::name_of(options.quantize);
  io::write_sharded_safetensors(output.temporary(), training ? "model" : "diffusion_pytorch_model",
                                tensors, metadata, options.shard_bytes);
  Json json = config.to_json();
  if (quantize) json["quantization"] = kernels::name_of(options.quantize);
  if (options.layout == WeightLayout::kWan) json = to_wan_config(config);
  if (options.layout == WeightLayout::kDiffusers) json = to_diffusers_config(config);
  write_file(output.temporary() / "config.json", json.dump(2) + "\n");
  output.commit();
}

}  // namespace loci::model
