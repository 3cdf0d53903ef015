// SPDX-License-Identifier: Apache-2.0
// `loci inspect`: what a model or a file of tensors holds, and what a model's past costs in memory.
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "loci/app/cli/command.h"
#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/base/text.h"
#include "loci/camera/time_grid.h"
#include "loci/io/tensors/checkpoint.h"
#include "loci/model/weights/foreign_config.h"
#include "loci/model/weights/summary.h"
#include "loci/model/weights/weights.h"

namespace loci::app {

namespace fs = std::filesystem;

namespace {

// Wan2.2's autoencoder makes one latent of 16x16 pixels and, after the first, four frames.
constexpr int64_t kPixelsPerLatent = 16;
constexpr int64_t kFramesPerLatent = 4;

struct InspectOptions {
  std::string path;
  bool json = false;
  bool tensors = false;
  std::string size = "768x512";
  double fps = 16;
  std::vector<double> seconds = {10, 40, 300, 3600};
  std::string dtype = "bf16";
};

struct DtypeTotal {
  uint64_t tensors = 0, elements = 0, bytes = 0;
};

// By the type's name in safetensors files.
std::map<std::string, DtypeTotal> dtype_totals(const std::vector<io::TensorInfo>& tensors) {
  std::map<std::string, DtypeTotal> totals;
  for (const io::TensorInfo& info : tensors) {
    DtypeTotal& total = totals[std::string(io::dtype_name(info.dtype))];
    ++total.tensors;
    total.elements += info.bytes / c10::elementSize(info.dtype);
    total.bytes += info.bytes;
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
                    {"dtype", io::dtype_name(info.dtype)},
                    {"shape", info.shape},
                    {"bytes", info.bytes}});
  }
  return list;
}

void print_tensors(const io::Checkpoint& weights) {
  size_t width = 0;
  for (const io::TensorInfo& info : weights.tensors()) width = std::max(width, info.name.size());
  for (const io::TensorInfo& info : weights.tensors()) {
    fmt::print("{:<{}}  {:<5} [{}]\n", one_line(info.name), width, io::dtype_name(info.dtype),
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

// One row of the table of storage.
struct HistoryRow {
  std::string mode;
  double seconds = 0;
  int64_t latents = 0;
  model::HistoryBytes bytes;
};

camera::TokenGrid token_grid(const InspectOptions& options,
                             const model::TransformerConfig& config) {
  const int64_t unit = kPixelsPerLatent * config.patch;
  const auto sides = split(options.size, 'x');
  const auto tokens = [&](std::string_view side) {
    const int64_t pixels = parse_int(side).value_or(0);
    return pixels > 0 && pixels <= 1 << 16 && pixels % unit == 0 ? pixels / unit : 0;
  };
  const camera::TokenGrid grid = {tokens(sides.back()), tokens(sides.front())};
  if (sides.size() != 2 || grid.tokens() == 0) {
    fail("--size is '{}'; expected WIDTHxHEIGHT in pixels, multiples of {}, e.g. 768x512",
         options.size, unit);
  }
  return grid;
}

std::vector<HistoryRow> history_table(const InspectOptions& options,
                                      const model::TransformerConfig& config) {
  const camera::TokenGrid grid = token_grid(options, config);
  const at::ScalarType dtype = options.dtype == "fp32" ? at::kFloat : at::kBFloat16;
  std::vector<HistoryRow> rows;
  for (const double seconds : options.seconds) {
    // A stream is one frame and whole chunks.
    const camera::TimeGrid time{kFramesPerLatent, config.chunk_size};
    const auto chunks = static_cast<int64_t>(
        std::ceil(seconds * options.fps / static_cast<double>(time.frames_per_chunk())));
    const int64_t latents = time.latents_in_chunks(1 + chunks);
    const int64_t bounded = model::bounded_frames(config, latents);
    const auto add = [&](const char* mode, const model::TransformerConfig& of, int64_t frames) {
      rows.push_back({mode, seconds, latents, model::history_bytes(of, grid, frames, dtype)});
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
  const camera::TokenGrid grid = token_grid(options, config);
  fmt::print("\nHistory at {} ({} tokens a latent frame, {:g} fps), keys and values in {}\n",
             options.size, grid.tokens(), options.fps, options.dtype == "fp32" ? "FP32" : "BF16");
  fmt::print("  {:>8} {:>8}  {:<21} {:>11} {:>11} {:>11} {:>11}\n", "seconds", "latents", "mode",
             "state", "main KV", "camera KV", "total");
  for (const HistoryRow& row : history_table(options, config)) {
    fmt::print("  {:>8g} {:>8}  {:<21} {:>11} {:>11} {:>11} {:>11}\n", row.seconds, row.latents,
               row.mode, format_bytes(row.bytes.state), format_bytes(row.bytes.main),
               format_bytes(row.bytes.camera), format_bytes(row.bytes.total()));
  }
}

Json history_json(const InspectOptions& options, const model::TransformerConfig& config) {
  Json rows = Json::array();
  for (const HistoryRow& row : history_table(options, config)) {
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

// "R" blocks as a count: "15 of 30 blocks".
size_t recurrent_blocks(const model::TransformerConfig& config) {
  const std::string letters = model::layer_letters(config);
  return static_cast<size_t>(std::count(letters.begin(), letters.end(), 'R'));
}

void print_model(const InspectOptions& options, const model::ModelFiles& files) {
  const model::TransformerConfig& config = files.config;
  const model::ParameterCounts counts = model::count_parameters(config);
  fmt::print("{}\n", files.config_source);
  fmt::print("  width {} = {} heads x {}, {} blocks, feed-forward {}, {} channels, patch {}x{}\n",
             format_count(config.width()), config.heads, model::kHeadChannels, config.layers,
             format_count(config.ffn_dim), config.channels, config.patch, config.patch);
  fmt::print("  chunks of {} latents, camera branches of {} heads, memory {} in {} blocks\n",
             config.chunk_size, config.camera_heads(), config.recurrent_memory,
             recurrent_blocks(config));
  if (config.is_quantized()) {
    fmt::print("  large linear layers in {}, with scales in FP32\n", config.quantization);
  }
  fmt::print("  blocks {}   (S: attends to its history, R: recurrent memory)\n",
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
      fmt::print("  plain Wan: camera and recurrent branches would start untrained\n");
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
  Json report = {{"path", options.path},
                 {"kind", "transformer"},
                 {"config", config.to_json()},
                 {"blocks", model::layer_letters(config)},
                 {"parameters",
                  {{"wan_base", counts.base},
                   {"camera", counts.camera},
                   {"recurrent", counts.recurrent},
                   {"total", counts.total()}}},
                 {"history", history_json(options, config)}};
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

// Whether the weights are a transformer's that knows its sizes; everything else is a list of
// tensors.
bool is_model_file(const fs::path& path, const io::Checkpoint& weights) {
  const std::vector<std::string> names = weights.names();
  const bool transformer = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return model::to_release_name(name) == "patch_embedding.weight";
  });
  std::error_code ignored;
  const fs::path config = path.parent_path() / "config.json";
  return transformer &&
         (weights.metadata().contains("loci.config") ||
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
  app.description("Show what a model or a file of tensors holds, and the memory its history takes");
  auto options = std::make_shared<InspectOptions>();
  app.add_option("path", options->path, "model folder, config.json, or file of tensors")
      ->type_name("DIR|FILE")
      ->required();
  app.add_flag("--json", options->json, "print JSON, sizes in bytes");
  app.add_flag("--tensors", options->tensors, "list a model's tensors too");
  app.add_option("--size", options->size, "frame size in pixels for the history's bytes")
      ->type_name("WxH")
      ->capture_default_str();
  app.add_option("--seconds", options->seconds, "lengths for the history's bytes")
      ->type_name("S")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 1e7).description(""))
      ->default_str("10,40,300,3600");
  app.add_option("--fps", options->fps, "frames a second of those lengths")
      ->type_name("N")
      ->check(CLI::Range(0.1, 1000.0).description(""))
      ->capture_default_str();
  app.add_option("--dtype", options->dtype, "type of kept keys and values")
      ->check(CLI::IsMember(std::vector<std::string>{"bf16", "fp32"}))
      ->capture_default_str();
  app.callback([options] { inspect(*options); });
  examples(app, {{"loci inspect models/mini", "parameters, layout and history of a model"},
                 {"loci inspect configs/wan5b.json", "the same from a config alone"},
                 {"loci inspect configs/wan5b.json --size 1280x704 --seconds 60,600",
                  "history at another size and other lengths"},
                 {"loci inspect Wan2.2_VAE.pth", "names, types and shapes of a file's tensors"}});
}

}  // namespace loci::app
