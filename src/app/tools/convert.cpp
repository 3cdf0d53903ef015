// SPDX-License-Identifier: Apache-2.0
// `loci convert`: writes a model with another data type, layout or quantization of its weights.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>

#include "loci/app/cli/command.h"
#include "loci/app/generate/generate_path.h"
#include "loci/app/tools/models.h"
#include "loci/base/choice.h"
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/text.h"
#include "loci/camera/lens.h"
#include "loci/io/media/image.h"
#include "loci/io/media/resize.h"
#include "loci/model/autoencoder/pixels.h"
#include "loci/model/autoencoder/vae_stream.h"
#include "loci/model/weights/systems.h"
#include "loci/model/weights/weights.h"
#include "loci/sample/model_folder.h"
#include "loci/sample/open_stream.h"
#include "loci/sample/quantization_error.h"

namespace loci::app {

namespace fs = std::filesystem;

namespace {

constexpr const char* kReportName = "quantization.json";

struct Options {
  std::string model, out, quantize = "none", dtype = "bf16", layout = "release", image, system;
  int64_t chunks = 2;
  bool replace = false;
};

model::WeightLayout parse_layout(const std::string& name) {
  std::vector<std::string> names;
  for (const model::WeightLayout layout : model::kWeightLayouts) {
    if (model::name_of(layout) == name) return layout;
    names.emplace_back(model::name_of(layout));
  }
  fail_choice("layout", name, names);
}

std::vector<std::string> known_systems() {
  std::vector<std::string> names = model::system_names();
  names.erase(names.begin());  // the first means none
  return names;
}

// The folder with the config.json and the weights of the transformer.
fs::path transformer_folder(const fs::path& model) {
  if (!fs::is_directory(model)) fail("{} is not a model folder", model.string());
  for (const char* file : {"config.json", "model.pt", "model.safetensors.index.json"}) {
    if (fs::exists(model / file)) return model;
  }
  return model / "transformer";
}

// Whether the new weights replace a file in the folder of config.json. The autoencoder and the text
// encoder may be in the same folder as *.pth files.
bool is_replaced(const std::string& name, const io::Checkpoint& weights) {
  return name == "config.json" || name == kReportName || name == weights.path().filename() ||
         name.starts_with("diffusion_pytorch_model") || name.starts_with("model.safetensors") ||
         name.starts_with("model-0");
}

// Copies everything except the transformer: autoencoder, text encoder, settings, examples.
// Published folders without config.json may have the base model or only its config in transformer/.
void copy_the_rest(const fs::path& model, const io::Checkpoint& weights, const fs::path& to) {
  const bool flat = transformer_folder(model) == model;
  for (const auto& entry : fs::directory_iterator(model)) {
    const std::string name = entry.path().filename().string();
    if (flat ? is_replaced(name, weights) : name == "transformer") continue;
    if (flat && name == "transformer" && !fs::exists(model / "config.json")) continue;
    fs::copy(entry.path(), to / name, fs::copy_options::recursive);
  }
}

uint64_t weight_bytes(const fs::path& folder) {
  uint64_t bytes = 0;
  for (const io::TensorInfo& tensor : io::Checkpoint::open(folder).tensors()) {
    bytes += tensor.file_bytes();
  }
  return bytes;
}

// The smallest type that holds all values of the file, to save memory.
at::ScalarType stored_type(const io::Checkpoint& weights) {
  const auto& tensors = weights.tensors();
  const bool half = std::all_of(tensors.begin(), tensors.end(), [](const io::TensorInfo& tensor) {
    return tensor.dtype == at::kBFloat16;
  });
  return half ? at::kBFloat16 : at::kFloat;
}

// A start picture, with the trajectory (.json) and the prompt (.txt) of the same name if they
// exist.
struct Example {
  fs::path image;
  std::string trajectory = "look_around", prompt;
};

std::optional<Example> find_example(const fs::path& model, const std::string& given) {
  std::vector<fs::path> images;
  if (!given.empty()) {
    images.emplace_back(given);
  } else if (fs::is_directory(model / "examples")) {
    for (const auto& entry : fs::directory_iterator(model / "examples")) {
      if (entry.path().extension() == ".png") images.push_back(entry.path());
    }
  }
  if (images.empty()) return std::nullopt;
  Example example{.image = *std::min_element(images.begin(), images.end())};
  const auto beside = [&](const char* extension) {
    return fs::path(example.image).replace_extension(extension);
  };
  if (fs::exists(beside(".json"))) example.trajectory = beside(".json").string();
  if (fs::exists(beside(".txt"))) example.prompt = trim(read_file(beside(".txt")));
  return example;
}

// The run that both models are compared on.
sample::QuantizationRun plan_run(const sample::ModelFolder& folder, const Options& o,
                                 const std::optional<Example>& example) {
  const at::NoGradGuard no_grad;
  const sample::GenerationDefaults& d = folder.defaults();
  sample::QuantizationRun run;
  run.options = sample::stream_options(folder);
  const bool prompted = example && folder.has_text_encoder();
  run.prompt = folder.prompt(prompted ? example->prompt : "", "");
  if (example) {
    const at::Tensor image =
        io::resize_and_crop(io::read_image(example->image), d.width, d.height).image;
    run.first = model::VaeEncoder(folder.vae()).encode(model::pixels_from_frames(image));
  } else {
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(run.options.seed);
    run.first = at::randn(
        {1, folder.config().channels, 1, run.options.latent_height, run.options.latent_width},
        generator, at::TensorOptions(at::kFloat));
  }
  const std::vector<camera::Camera> path =
      read_latent_path(example ? example->trajectory : "look_around", d.fps, folder.time_grid(),
                       d.fov, std::nullopt);
  const std::vector<camera::Camera> ahead =
      continued(path, camera::Pose(),
                static_cast<size_t>(folder.time_grid().latents_in_chunks(1 + o.chunks) - 1));
  run.cameras = {{camera::Pose(), path.front().lens}};
  run.cameras.insert(run.cameras.end(), ahead.begin(), ahead.end());
  return run;
}

void print_error(const sample::QuantizationError& error, const std::string& format) {
  fmt::print("\nRelative error of the outputs of {} layers\n", format);
  fmt::print("  {:<24}{:>8}{:>10}{:>10}\n", "layer", "count", "mean", "maximum");
  for (const auto& kind : error.kinds()) {
    fmt::print("  {:<24}{:>8}{:>9.2f}%{:>9.2f}%\n", kind.name, kind.layers, 100 * kind.mean,
               100 * kind.worst);
  }
  std::vector<std::string> worst;
  for (const auto& layer : error.worst(3)) {
    worst.push_back(fmt::format("{} {:.2f} %", layer.name, 100 * layer.error));
  }
  fmt::print("  largest errors: {}\n", fmt::join(worst, ", "));
  std::vector<std::string> chunks;
  for (const double e : error.velocity) chunks.push_back(fmt::format("{:.2f} %", 100 * e));
  fmt::print("Relative error of the model's velocity by chunk: {}\n", fmt::join(chunks, ", "));
}

// Prints and writes the report: size of the weights and error of the quantized model.
void report(const std::optional<sample::ModelFolder>& folder, const fs::path& source,
            const fs::path& weights, const Options& o) {
  const uint64_t before = weight_bytes(transformer_folder(source)), after = weight_bytes(weights);
  fmt::print("transformer: {} before, {} after\n", format_bytes(before), format_bytes(after));
  Json json = {{"format", o.quantize}, {"bytes_before", before}, {"bytes_after", after}};
  if (folder) {
    const std::optional<Example> example = find_example(source, o.image);
    const sample::QuantizationRun run = plan_run(*folder, o, example);
    model::Transformer original = model::load_model(source).transformer;
    model::Transformer quantized = model::load_model(weights).transformer;
    const sample::QuantizationError error = sample::measure_quantization(original, quantized, run);
    print_error(error, o.quantize);
    json["error"] = error.to_json();
    json["measured_on"] =
        example ? example->image.filename().string() : std::string("a random first latent");
  }
  write_file(weights / kReportName, json.dump(2) + "\n");
}

void convert(const Options& o) {
  const fs::path source = find_model(o.model);
  const fs::path from = transformer_folder(source);
  const model::WeightLayout layout = parse_layout(o.layout);
  const auto format = kernels::weight_format(o.quantize);
  if (format && model::is_plain(layout)) {
    fail("--quantize cannot be combined with --layout {}; choose release or training", o.layout);
  }
  Json overrides = Json::object();
  if (!o.system.empty()) overrides["system"] = o.system;
  const model::ModelFiles files = model::open_model(from, overrides);
  if (files.config.is_quantized()) {
    fail("{} is already quantized to {}; convert the original model", from.string(),
         files.config.quantization);
  }
  if (!files.weights) fail("{} has no weights", from.string());
  std::optional<sample::ModelFolder> folder;
  if (format && o.chunks > 0) folder.emplace(source);
  AtomicDirectory output(
      o.out, o.replace ? AtomicDirectory::Existing::kReplace : AtomicDirectory::Existing::kRefuse);
  const fs::path& made = output.temporary();
  const fs::path weights = from == source ? made : made / "transformer";
  const at::ScalarType dtype = o.dtype == "bf16" ? at::kBFloat16 : at::kFloat;
  const bool nested = weights != made;
  model::SaveOptions save{.layout = layout, .dtype = dtype};
  if (format) save.quantize = *format;
  {
    const model::LoadedModel loaded =
        model::load_model(from, {.dtype = stored_type(*files.weights), .overrides = overrides});
    const fs::path place = nested ? weights : made / "weights";
    model::save_model(loaded.transformer.config(), loaded.transformer.parameters().all(), place,
                      save);
    if (!nested) {
      for (const auto& entry : fs::directory_iterator(place)) {
        fs::rename(entry.path(), made / entry.path().filename());
      }
      fs::remove(place);
    }
  }
  copy_the_rest(source, *files.weights, made);
  const model::System* system = model::find_system(files.config.system);
  if (system != nullptr && !fs::exists(made / "generation.json")) {
    write_file(made / "generation.json", system->generation.dump(2) + "\n");
  }
  if (format) report(folder, source, weights, o);
  output.commit();
  fmt::print("{}: done\n", o.out);
}

}  // namespace

void add_convert(CLI::App& app) {
  app.description("Convert the weights of a model to another data type, layout or quantization");
  auto o = std::make_shared<Options>();
  app.add_option("model", o->model, "model folder")->type_name("DIR")->required();
  app.add_option("--out", o->out, "model folder to create")->type_name("DIR")->required();
  app.add_option("--quantize", o->quantize,
                 "quantization of the large linear layers; prints a report of the error")
      ->check(one_of({"none", "int8", "int4"}))
      ->capture_default_str();
  app.add_option("--dtype", o->dtype, "data type of all other weights")
      ->check(one_of({"bf16", "fp32"}))
      ->capture_default_str();
  app.add_option("--layout", o->layout,
                 "naming of the weights; wan and diffusers contain the Wan base only")
      ->check(one_of({"release", "training", "wan", "diffusers"}))
      ->capture_default_str();
  app.add_option("--system", o->system,
                 "published system of the weights, if the files do not tell it")
      ->check(one_of(known_systems()));
  app.add_option("--chunks", o->chunks,
                 "number of generated chunks for measuring the error; 0 = no measurement")
      ->type_name("N")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app.add_option(
         "--image", o->image,
         "start picture for measuring the error (default: the first of the model's examples)")
      ->type_name("FILE");
  app.add_flag("--replace", o->replace, "replace the folder if it exists");
  app.callback([o] { convert(*o); });
  examples(app, {{"loci convert models/mini --quantize int8 --out models/mini-int8",
                  "faster, half the size, with a report of the error"},
                 {"loci convert models/mini --quantize int4 --out models/mini-int4 --chunks 4",
                  "a quarter of the size, error measured on four chunks"},
                 {"loci convert models/mini --dtype fp32 --layout diffusers --out base",
                  "the Wan base in FP32 for other programs"},
                 {"loci convert SolarWM-5B-sgf-stage2-81f --out models/solarwm",
                  "a published folder with its settings"}});
}

}  // namespace loci::app
