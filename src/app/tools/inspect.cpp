// SPDX-License-Identifier: Apache-2.0
// `loci inspect`: prints the contents of a model or a tensor file, and the memory of a history.
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "loci/app/cli/command.h"
#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/base/pixel_size.h"
#include "loci/base/text.h"
#include "loci/camera/time_grid.h"
#include "loci/io/tensors/checkpoint.h"
#include "loci/memory/recurrent/recurrent_registry.h"
#include "loci/model/text/text_prompts.h"
#include "loci/model/weights/foreign_config.h"
#include "loci/model/weights/summary.h"
#include "loci/model/weights/systems.h"
#include "loci/model/weights/weights.h"
#include "loci/sample/model_folder.h"

namespace loci::app {

namespace fs = std::filesystem;

namespace {

struct InspectOptions {
  std::string path;
  bool json = false;
  bool tensors = false;
  std::optional<std::string> size;
  std::optional<double> fps;
  std::vector<double> seconds = {10, 40, 300, 3600};
  std::string dtype = "bf16";
};

struct DtypeTotal {
  uint64_t tensors = 0, elements = 0, bytes = 0;
};

// Sizes in the file, keyed by the name of the data type there.
std::map<std::string, DtypeTotal> dtype_totals(const std::vector<io::TensorInfo>& tensors) {
  std::map<std::string, DtypeTotal> totals;
  for (const io::TensorInfo& info : tensors) {
    DtypeTotal& total = totals[std::string(info.file_type())];
    ++total.tensors;
    total.elements += info.bytes / c10::elementSize(info.dtype);
    total.bytes += info.file_bytes();
  }
  return totals;
}

Json dtypes_json(const io::Checkpoint& weights) {
  Json json = Json::object();
  for (const auto& [name, total] : dtype_totals(weights.tensors())) {
    json[name] = {{"tensors", total.tensors}, {"elements", total.elements}, {"bytes", total.bytes}};
  }
  return json;
}

Json tensors_json(const io::Checkpoint& weights) {
  Json list = Json::array();
  for (const io::TensorInfo& info : weights.tensors()) {
    list.push_back({{"name", info.name},
                    {"dtype", info.file_type()},
                    {"shape", info.shape},
                    {"bytes", info.file_bytes()}});
  }
  return list;
}

void print_tensors(const io::Checkpoint& weights) {
  size_t width = 0;
  for (const io::TensorInfo& info : weights.tensors()) width = std::max(width, info.name.size());
  for (const io::TensorInfo& info : weights.tensors()) {
    fmt::print("{:<{}}  {:<5} [{}]\n", one_line(info.name), width, info.file_type(),
               fmt::join(info.shape, ", "));
  }
}

void print_dtypes(const io::Checkpoint& weights) {
  for (const auto& [name, total] : dtype_totals(weights.tensors())) {
    fmt::print("  {:<5} {:>6} tensors  {:>15} elements  {:>11}\n", name,
               format_count(total.tensors), format_count(total.elements),
               format_bytes(total.bytes));
  }
}

// One row of the history table.
struct HistoryRow {
  std::string mode;
  double seconds = 0;
  int64_t latents = 0;
  model::HistoryBytes bytes;
};

// The video that the history is computed for.
struct VideoFormat {
  PixelSize size;
  double fps = 0;
  camera::TimeGrid time;
  int64_t history_frames = 0;  // retained by a bounded history policy
  camera::TokenGrid grid;      // tokens of a latent frame
};

// Of the model folder: generation.json and vae/config.json. A path without them gets the defaults
// of a stream and the autoencoder of Wan2.2. Options override both.
VideoFormat video_format(const InspectOptions& options, const model::TransformerConfig& config) {
  const fs::path path = options.path;
  const fs::path folder = fs::is_directory(path) ? path : path.parent_path();
  const auto defaults = sample::GenerationDefaults::load(folder, config.system);
  const fs::path vae_file = folder / "vae" / "config.json";
  const model::VaeConfig vae =
      fs::exists(vae_file) ? model::VaeConfig::from_json(load_json(vae_file), vae_file.string())
                           : model::VaeConfig::wan22();
  const int64_t unit = vae.spatial_factor() * config.patch;
  VideoFormat format;
  format.size = options.size
                    ? parse_pixel_size(*options.size, "--size", {.most = 1 << 16, .multiple = unit})
                    : PixelSize{defaults.width, defaults.height};
  if (format.size.width % unit != 0 || format.size.height % unit != 0) {
    fail("{}: {}x{} pixels are not multiples of {}; give --size", folder.string(),
         format.size.width, format.size.height, unit);
  }
  format.fps = options.fps.value_or(defaults.fps);
  format.time = config.time_grid(vae.temporal_factor());
  format.history_frames = defaults.history_frames;
  format.grid = {format.size.height / unit, format.size.width / unit};
  return format;
}

std::vector<HistoryRow> history_table(const InspectOptions& options, const VideoFormat& format,
                                      const model::TransformerConfig& config) {
  const at::ScalarType dtype = options.dtype == "fp32" ? at::kFloat : at::kBFloat16;
  std::vector<HistoryRow> rows;
  for (const double seconds : options.seconds) {
    // A stream consists of one frame and whole chunks.
    const auto chunks = static_cast<int64_t>(
        std::ceil(seconds * format.fps / static_cast<double>(format.time.frames_per_chunk())));
    const int64_t latents = format.time.latents_in_chunks(1 + chunks);
    const int64_t bounded = std::min(latents, format.history_frames + config.chunk_size);
    const auto add = [&](const char* mode, const model::TransformerConfig& of, int64_t frames) {
      rows.push_back(
          {mode, seconds, latents, model::history_bytes(of, format.grid, frames, dtype)});
    };
    const model::TransformerConfig full = model::full_softmax(config);
    add("full softmax, dense", full, latents);
    add("this model, dense", config, latents);
    add("full softmax, sparse", full, bounded);
    add("this model, sparse", config, bounded);
  }
  return rows;
}

void print_history(const InspectOptions& options, const model::TransformerConfig& config) {
  const VideoFormat format = video_format(options, config);
  fmt::print("\nHistory at {}x{} ({} tokens per latent frame, {:g} fps), keys and values in {}\n",
             format.size.width, format.size.height, format.grid.tokens(), format.fps,
             options.dtype == "fp32" ? "FP32" : "BF16");
  fmt::print("  {:>8} {:>8}  {:<21} {:>11} {:>11} {:>11} {:>11}\n", "seconds", "latents", "mode",
             "state", "main KV", "camera KV", "total");
  for (const HistoryRow& row : history_table(options, format, config)) {
    fmt::print("  {:>8g} {:>8}  {:<21} {:>11} {:>11} {:>11} {:>11}\n", row.seconds, row.latents,
               row.mode, format_bytes(row.bytes.state), format_bytes(row.bytes.main),
               format_bytes(row.bytes.camera), format_bytes(row.bytes.total()));
  }
}

Json history_json(const InspectOptions& options, const VideoFormat& format,
                  const model::TransformerConfig& config) {
  Json rows = Json::array();
  for (const HistoryRow& row : history_table(options, format, config)) {
    rows.push_back({{"mode", row.mode},
                    {"seconds", row.seconds},
                    {"latents", row.latents},
                    {"state_bytes", row.bytes.state},
                    {"main_bytes", row.bytes.main},
                    {"camera_bytes", row.bytes.camera},
                    {"total_bytes", row.bytes.total()}});
  }
  return rows;
}

// Number of blocks with a recurrent memory.
size_t recurrent_blocks(const model::TransformerConfig& config) {
  const std::string letters = model::layer_letters(config);
  return static_cast<size_t>(std::count(letters.begin(), letters.end(), 'R'));
}

// Settings of the recurrent memory that differ from the paper's.
void print_recurrent_details(const model::TransformerConfig& config) {
  if (config.recurrent_memory == "none") return;
  if (config.recurrent_heads_per_head > 1) {
    fmt::print("  {} recurrent heads, {} per attention head\n", config.recurrent_heads(),
               config.recurrent_heads_per_head);
  }
  if (config.recurrent_mapping().encoding != memory::KeyEncoding::kRay) return;
  const model::RayEncoding& ray = config.ray_encoding;
  const std::string phases =
      ray.distances.empty()
          ? fmt::format("direction {:g} and centre {:g} per metre",
                        fmt::join(ray.direction_bandwidths, ", "),
                        fmt::join(ray.centre_bandwidths, ", "))
          : fmt::format("points at {:g} m, {:g} per metre", fmt::join(ray.distances, ", "),
                        fmt::join(ray.centre_bandwidths, ", "));
  fmt::print("  ray encoding of {} channels: bandwidths of {}; {} tiles, values {}, seed {}\n",
             ray.channels, phases, ray.tiles ? "with" : "without",
             ray.values ? "rotated" : "not rotated", ray.seed);
}

// Parts of a model folder that are not there, with the effect. Empty for a single file.
std::vector<std::string> missing_parts(const fs::path& path) {
  std::vector<std::string> missing;
  if (!fs::is_directory(path)) return missing;
  if (!fs::exists(path / "vae") && !fs::exists(path / "Wan2.2_VAE.pth")) {
    missing.emplace_back("autoencoder (vae/ or Wan2.2_VAE.pth), without which no frames are made");
  }
  if (!model::has_prompt_files(path)) {
    missing.emplace_back("text encoder and tokenizer, without which prompts must be empty");
  }
  return missing;
}

void print_system(const InspectOptions& options, const model::TransformerConfig& config) {
  const model::System* system = model::find_system(config.system);
  if (system == nullptr) return;
  fmt::print("  {}: {}\n", system->name, system->description);
  for (const std::string& part : missing_parts(options.path)) fmt::print("  missing: {}\n", part);
}

void print_model(const InspectOptions& options, const model::ModelFiles& files) {
  const model::TransformerConfig& config = files.config;
  const model::ParameterCounts counts = model::count_parameters(config);
  fmt::print("{}\n", files.config_source);
  print_system(options, config);
  fmt::print("  width {} = {} heads x {}, {} blocks, feed-forward {}, {} channels, patch {}x{}\n",
             format_count(config.width()), config.heads, model::kHeadChannels, config.layers,
             format_count(config.ffn_dim), config.channels, config.patch, config.patch);
  fmt::print(
      "  chunks of {} latents, camera branches of {} heads, recurrent memory {} in {} blocks\n",
      config.chunk_size, config.camera_heads(), config.recurrent_memory, recurrent_blocks(config));
  fmt::print("  {}: {}\n", config.recurrent_memory,
             memory::recurrent_memory_kind(config.recurrent_memory).description);
  print_recurrent_details(config);
  if (config.is_quantized()) {
    fmt::print("  large linear layers quantized to {}, scales in FP32\n", config.quantization);
  }
  fmt::print("  blocks {}   (S: softmax attention to the history, R: recurrent memory)\n",
             model::layer_letters(config));
  fmt::print("\nParameters\n");
  const auto line = [](const char* part, uint64_t count) {
    fmt::print("  {:<19} {:>15}  {:>11} in BF16\n", part, format_count(count),
               format_bytes(2 * count));
  };
  line("Wan base", counts.base);
  line("camera branches", counts.camera);
  line("recurrent branches", counts.recurrent);
  line("total", counts.total());
  if (files.weights) {
    const model::FitReport fit = model::check_fit(config, *files.weights);
    fmt::print("\nWeights in {}, {} layout\n", files.weights->path().string(),
               model::name_of(fit.layout));
    print_dtypes(*files.weights);
    if (!fit.report.clean()) fmt::print("  do not fit: {}\n", one_line(fit.report.text()));
    if (fit.new_branches) {
      fmt::print("  plain Wan weights: the camera and recurrent branches are untrained\n");
    }
  }
  print_history(options, config);
  if (options.tensors && files.weights) {
    fmt::print("\n");
    print_tensors(*files.weights);
  }
}

void print_model_json(const InspectOptions& options, const model::ModelFiles& files) {
  const model::TransformerConfig& config = files.config;
  const model::ParameterCounts counts = model::count_parameters(config);
  const VideoFormat format = video_format(options, config);
  Json report = {{"path", options.path},
                 {"kind", "transformer"},
                 {"system", config.system},
                 {"config", config.to_json()},
                 {"blocks", model::layer_letters(config)},
                 {"parameters",
                  {{"wan_base", counts.base},
                   {"camera", counts.camera},
                   {"recurrent", counts.recurrent},
                   {"total", counts.total()}}},
                 {"size", {format.size.width, format.size.height}},
                 {"fps", format.fps},
                 {"history", history_json(options, format, config)}};
  if (files.weights) {
    const model::FitReport fit = model::check_fit(config, *files.weights);
    report["weights"] = {
        {"path", files.weights->path().string()}, {"layout", model::name_of(fit.layout)},
        {"dtypes", dtypes_json(*files.weights)},  {"new_branches", fit.new_branches},
        {"missing", fit.report.missing},          {"unexpected", fit.report.unexpected},
        {"misshapen", fit.report.misshapen}};
    if (options.tensors) report["weights"]["tensors"] = tensors_json(*files.weights);
  }
  // Names in files need not be valid UTF-8.
  fmt::print("{}\n", report.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_checkpoint(const InspectOptions& options, const io::Checkpoint& weights) {
  if (options.json) {
    const Json report = {{"path", options.path},
                         {"kind", "tensors"},
                         {"dtypes", dtypes_json(weights)},
                         {"metadata", weights.metadata()},
                         {"tensors", tensors_json(weights)}};
    fmt::print("{}\n", report.dump(2, ' ', false, Json::error_handler_t::replace));
    return;
  }
  print_tensors(weights);
  fmt::print("\n{}: {} tensors\n", weights.path().string(), weights.tensors().size());
  print_dtypes(weights);
  for (const auto& [key, value] : weights.metadata()) {
    fmt::print("  {} = {}\n", one_line(key), shorten(one_line(value), 100));
  }
}

// Whether the file holds a transformer with its config. Other files are listed as tensors.
bool is_model_file(const fs::path& path, const io::Checkpoint& weights) {
  const std::vector<std::string> names = weights.names();
  const bool transformer = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return model::to_release_name(name) == "patch_embedding.weight";
  });
  std::error_code ignored;
  const fs::path config = path.parent_path() / "config.json";
  return transformer &&
         (weights.metadata().contains("loci.config") ||
          !model::identify_system(weights.names(), path.string()).empty() ||
          (fs::exists(config, ignored) && model::describes_transformer(load_json(config))));
}

void inspect(const InspectOptions& options) {
  const fs::path path = options.path;
  std::error_code ignored;
  const bool folder = fs::is_directory(path, ignored);
  const bool config_file = path.filename().string().ends_with(".json") &&
                           !path.filename().string().ends_with(".index.json");
  if (folder) {
    const fs::path config = path / "config.json";
    if (fs::exists(config, ignored) && !model::describes_transformer(load_json(config))) {
      print_checkpoint(options, io::Checkpoint::open(path));
      return;
    }
  } else if (!config_file) {
    const io::Checkpoint weights = io::Checkpoint::open(path);
    if (!is_model_file(path, weights)) {
      print_checkpoint(options, weights);
      return;
    }
  }
  const model::ModelFiles files = model::open_model(path);
  if (options.json) {
    print_model_json(options, files);
  } else {
    print_model(options, files);
  }
}

}  // namespace

void add_inspect(CLI::App& app) {
  app.description("Print the contents of a model or tensor file, and the memory of its history");
  auto options = std::make_shared<InspectOptions>();
  app.add_option("path", options->path, "model folder, config.json or tensor file")
      ->type_name("DIR|FILE")
      ->required();
  app.add_flag("--json", options->json, "print JSON with sizes in bytes");
  app.add_flag("--tensors", options->tensors, "also list the tensors of a model");
  app.add_option("--size", options->size,
                 "frame size in pixels for the history table (default: the model's)")
      ->type_name("WxH");
  app.add_option("--seconds", options->seconds, "video lengths in seconds for the history table")
      ->type_name("S")
      ->delimiter(',')
      ->check(number_in(0.0, 1e7))
      ->default_str("10,40,300,3600");
  app.add_option("--fps", options->fps,
                 "frames per second for the history table (default: the model's)")
      ->type_name("N")
      ->check(number_in(0.1, 1000.0));
  app.add_option("--dtype", options->dtype, "data type of keys and values for the history table")
      ->check(one_of({"bf16", "fp32"}))
      ->capture_default_str();
  app.callback([options] { inspect(*options); });
  examples(app, {{"loci inspect models/mini", "parameters, weights and history of a model"},
                 {"loci inspect configs/wan5b.json", "the same without weights"},
                 {"loci inspect configs/wan5b.json --size 1280x704 --seconds 60,600",
                  "history for another size and other lengths"},
                 {"loci inspect Wan2.2_VAE.pth", "names, types and shapes of all tensors"}});
}

}  // namespace loci::app
