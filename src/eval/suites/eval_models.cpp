// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/suites/eval_models.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>

#include "loci/base/error.h"
#include "loci/base/log.h"
#include "loci/base/random.h"
#include "loci/io/media/frames.h"
#include "loci/sample/open_stream.h"

namespace loci::eval {

namespace fs = std::filesystem;

namespace {

constexpr std::streamoff kSample = 1 << 20;  // bytes

void mix(uint64_t& hash, const void* data, size_t size) {
  const char* bytes = static_cast<const char*>(data);
  for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + at, std::min(sizeof(word), size - at));
    hash = hash_keys({hash, word});
  }
}

void mix_file(uint64_t& hash, const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const auto size = static_cast<std::streamoff>(fs::file_size(file));
  std::string bytes(static_cast<size_t>(std::min(size, kSample)), '\0');
  for (const std::streamoff begin :
       {std::streamoff{0}, std::max<std::streamoff>(0, size - kSample)}) {
    stream.seekg(begin);
    if (!stream.read(bytes.data(), std::ssize(bytes)))
      fail("{}: cannot read the file", file.string());
    mix(hash, bytes.data(), bytes.size());
  }
  mix(hash, &size, sizeof(size));
}

}  // namespace

std::vector<ModelChoice> parse_models(const std::vector<std::string>& texts,
                                      std::string_view option) {
  std::vector<ModelChoice> models;
  std::set<std::string> names;
  for (const std::string& text : texts) {
    const size_t sign = text.find('=');
    ModelChoice model;
    model.path = sign == std::string::npos ? text : text.substr(sign + 1);
    // Ignores a trailing slash: "models/mini/" is named "mini".
    const fs::path plain = fs::path(model.path / "").parent_path();
    model.name = sign == std::string::npos ? plain.filename().string() : text.substr(0, sign);
    if (model.name.empty() || model.path.empty()) {
      fail("{}: '{}' is malformed; expected DIR or NAME=DIR", option, text);
    }
    if (!names.insert(model.name).second) {
      fail("{}: two folders have the name '{}'; rename one with NAME=DIR", option, model.name);
    }
    models.push_back(std::move(model));
  }
  return models;
}

std::string suffix_of(model::Readout readout) {
  switch (readout) {
    case model::Readout::kOff:
      return ", readout off";
    case model::Readout::kRandom:
      return ", random readout";
    case model::Readout::kOn:
      break;
  }
  return "";
}

std::vector<Arm> with_variations(const std::vector<Arm>& arms, const Variations& variations) {
  std::vector<Arm> all;
  for (const Arm& arm : arms) {
    const size_t base = all.size();
    all.push_back(arm);
    const auto vary = [&](const std::string& suffix) -> Arm& {
      Arm& other = all.emplace_back(arm);
      other.base = base;
      other.variation = suffix;
      other.label += suffix;
      return other;
    };
    for (const model::Readout readout : variations.readouts) {
      if (readout != model::Readout::kOn) vary(suffix_of(readout)).readout = readout;
    }
    for (const int64_t chunks : variations.resets) {
      vary(chunks == 1 ? ", states reset every chunk"
                       : fmt::format(", states reset every {} chunks", chunks))
          .reset_every = chunks;
    }
  }
  return all;
}

std::string variant_name(const ModelChoice& model, const Arm& arm, const std::vector<Arm>& arms) {
  const auto histories =
      std::count_if(arms.begin(), arms.end(), [](const Arm& one) { return !one.base; });
  return histories == 1 ? model.name + arm.variation : model.name + ", " + arm.label;
}

std::vector<VariantGroup> model_groups(const std::vector<ModelChoice>& models,
                                       const std::vector<Arm>& arms) {
  std::vector<VariantGroup> groups;
  for (const ModelChoice& model : models) {
    VariantGroup& group = groups.emplace_back();
    group.name = model.name;
    for (const Arm& arm : arms) group.variants.push_back(variant_name(model, arm, arms));
  }
  return groups;
}

bool has_recurrent_states(const model::TransformerConfig& config) {
  return !config.hybrid_layers.empty() && config.recurrent_memory != "none";
}

sample::StreamOptions stream_options(const sample::ModelFolder& folder, const Arm& arm,
                                     const Sampling& sampling, int64_t width, int64_t height) {
  return sample::stream_options(folder, {.size = PixelSize{width, height},
                                         .history = arm.history,
                                         .history_frames = arm.budget,
                                         .solver = sampling.solver,
                                         .steps = sampling.steps,
                                         .guidance = sampling.guidance,
                                         .seed = arm.seed.value_or(sampling.seed())});
}

sample::Prompt prompt_for(const sample::ModelFolder& folder, const std::string& caption,
                          const Sampling& sampling) {
  return folder.prompt(sampling.captions && folder.has_text_encoder() ? caption : "", "");
}

std::vector<Arm> with_seeds(const Arm& arm, const Sampling& sampling) {
  std::vector<Arm> all;
  for (const uint64_t seed : sampling.seeds) all.emplace_back(arm).seed = seed;
  return all;
}

int64_t free_token(const std::vector<ModelChoice>& models, const Sampling& sampling) {
  if (models.empty() || sampling.width) return 0;
  const sample::ModelFolder folder(models.front().path);
  return folder.vae_config().spatial_factor() * folder.config().patch;
}

void add_caption_note(const std::vector<ModelChoice>& models, const Sampling& sampling,
                      const EvalClips& clips, std::vector<std::string>& notes) {
  bool any = false;
  for (size_t i = 0; i < clips.size() && !any; ++i) any = !clips.clip(i).caption.empty();
  if (!sampling.captions || !any) return;
  std::vector<std::string> names;
  for (const ModelChoice& model : models) {
    if (!sample::ModelFolder(model.path).has_text_encoder()) names.push_back(model.name);
  }
  if (names.empty()) return;
  notes.push_back(
      fmt::format("Captions were not used with {}: the model folder has no text encoder.",
                  fmt::join(names, ", ")));
}

void warn_of_captions(const std::vector<ModelChoice>& models, const Sampling& sampling,
                      const EvalClips& clips) {
  std::vector<std::string> notes;
  add_caption_note(models, sampling, clips, notes);
  for (const std::string& note : notes) {
    log_warning("{}", std::string_view(note).substr(0, note.size() - 1));
  }
}

std::string fingerprint(const fs::path& folder) {
  if (!fs::is_directory(folder)) fail("{}: not a folder; expected a model folder", folder.string());
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string suffix = entry.path().extension().string();
    if (entry.is_regular_file() && (suffix == ".safetensors" || suffix == ".gguf" ||
                                    suffix == ".pth" || suffix == ".pt" || suffix == ".json")) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  uint64_t hash = 0;
  for (const fs::path& file : files) {
    const std::string name = file.lexically_relative(folder).string();
    mix(hash, name.data(), name.size());
    mix_file(hash, file);
  }
  return fmt::format("{:016x}", hash);
}

std::string data_fingerprint(const fs::path& data, const fs::path& out) {
  if (data.empty()) return "";
  std::error_code ignored;
  const fs::path mine = fs::weakly_canonical(out, ignored);
  std::vector<std::string> files;
  for (auto at = fs::recursive_directory_iterator(data); at != fs::recursive_directory_iterator();
       ++at) {
    const fs::path& path = at->path();
    if (path.filename().string().starts_with('.') ||
        (at->is_directory() && fs::weakly_canonical(path, ignored) == mine)) {
      at.disable_recursion_pending();
    } else if (at->is_regular_file() && (io::is_video_name(path) || io::is_image_name(path))) {
      files.push_back(
          fmt::format("{} {}\n", path.lexically_relative(data).string(), at->file_size()));
    }
  }
  std::sort(files.begin(), files.end());
  uint64_t hash = 0;
  for (const std::string& file : files) mix(hash, file.data(), file.size());
  return fmt::format("{:016x}", hash);
}

void describe_predictions(const std::vector<ModelChoice>& folders, Json& settings) {
  for (const ModelChoice& folder : folders) {
    settings["predictions"].push_back(
        {{"name", folder.name}, {"videos", data_fingerprint(folder.path, {})}});
  }
}

Json describe(const std::vector<ModelChoice>& models, const std::vector<Arm>& arms,
              const Sampling& s) {
  Json json = {{"seed", fmt::format("{}", fmt::join(s.seeds, ","))},
               {"dtype", s.dtype == at::kBFloat16 ? "bf16" : "fp32"},
               {"captions", s.captions}};
  if (s.width && s.height) json["size"] = {*s.width, *s.height};
  if (s.steps) json["steps"] = *s.steps;
  if (s.solver) json["solver"] = *s.solver;
  if (s.guidance) json["guidance"] = *s.guidance;
  for (const ModelChoice& model : models) {
    json["models"].push_back(
        {{"name", model.name},
         {"weights", fingerprint(model.path)},
         {"captions", s.captions && sample::ModelFolder(model.path).has_text_encoder()}});
  }
  for (const Arm& arm : arms) {
    json["arms"].push_back({{"label", arm.label},
                            {"history", arm.history.value_or("")},
                            {"budget", arm.budget ? Json(*arm.budget) : Json("")},
                            {"readout", sample::name_of(arm.readout)},
                            {"reset_every", arm.reset_every}});
  }
  return json;
}

}  // namespace loci::eval
