// SPDX-License-Identifier: Apache-2.0
// loci bench train
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/Parallel.h>

#include "loci/app/bench/bench_commands.h"
#include "loci/app/bench/measure_train.h"
#include "loci/app/bench/torch_script.h"
#include "loci/app/cli/command.h"
#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/kernels/machine/block_cache.h"
#include "loci/model/transformer/config.h"

namespace loci::app {

namespace {

namespace fs = std::filesystem;

struct BenchTrainOptions {
  std::string config = "configs/mini.json", dtype = "fp32";
  std::string python = "build/venv/bin/python", script = "src/app/bench/train_torch.py";
  TrainBenchOptions bench;
  bool torch = false, json = false;
};

struct Row {
  std::string name;  // "loci", "loci, full softmax", "PyTorch eager"
  double seconds = 0, loss = 0, gradient_norm = 0;
};

// Runs the PyTorch script on the case file.
Row run_torch(const BenchTrainOptions& options, const std::string& name) {
  const Json result =
      run_torch_script(options.python, options.script,
                       fmt::format("'{}' --repeats {} --threads {}{}",
                                   options.bench.case_file.string(), options.bench.repeats,
                                   at::get_num_threads(), options.bench.bf16 ? " --bf16" : ""));
  return {name, result.at("seconds"), result.at("loss"), result.at("gradient_norm")};
}

// Both must have computed the same: FP32 agrees up to rounding, BF16 rounds at other places.
void check_same(const Row& ours, const Row& theirs, bool bf16) {
  const double tolerance = bf16 ? 0.05 : 1e-3;
  const auto apart = [&](double a, double b) { return std::abs(a - b) > tolerance * std::abs(a); };
  if (apart(ours.loss, theirs.loss) || apart(ours.gradient_norm, theirs.gradient_norm)) {
    fail_check(
        "{} has loss {:.5f} and gradient norm {:.5f}, but {} has {:.5f} and {:.5f}; expected equal "
        "values",
        theirs.name, theirs.loss, theirs.gradient_norm, ours.name, ours.loss, ours.gradient_norm);
  }
}

void run_bench_train(BenchTrainOptions options) {
  kernels::keep_tensor_memory();  // as in loci train
  const Json json = load_json(options.config);
  options.bench.bf16 = options.dtype == "bf16";
  struct Removed {
    fs::path file = fs::temp_directory_path() / fmt::format("loci-bench-{}.safetensors", getpid());
    ~Removed() {
      std::error_code ignored;
      fs::remove(file, ignored);
    }
  } const case_file;
  if (options.torch) {
    check_torch_script(options.python, options.script);
    options.bench.case_file = case_file.file;
  }

  std::vector<Row> rows;
  int64_t parameters = 0;
  for (const bool softmax : {false, true}) {
    Json model = json.value("model", json);
    if (softmax) model["recurrent_memory"] = "none";
    const auto config = model::TransformerConfig::from_json(model, options.config + ": model");
    if (config.is_quantized()) {
      fail("{}: quantized models cannot be trained; give the config of the original model",
           options.config);
    }
    const bool paper = config.recurrent_heads_per_head == 1 &&
                       config.recurrent_mapping().encoding != memory::KeyEncoding::kRay;
    if (options.torch && !paper) {
      fail("{}: --torch has no {} with these settings; choose recurrent_memory chunk_kda or none",
           options.config, config.recurrent_memory);
    }
    const std::string suffix = softmax ? ", full softmax" : "";
    const TrainBenchResult result = measure_training(config, options.bench);
    if (!softmax) parameters = result.parameters;
    rows.push_back({"loci" + suffix, result.seconds, result.loss, result.gradient_norm});
    if (options.torch) {
      const Row theirs = run_torch(options, "PyTorch eager" + suffix);
      check_same(rows.back(), theirs, options.bench.bf16);
      rows.push_back(theirs);
    }
  }
  if (options.json) {
    Json out{{"parameters", parameters},
             {"window", options.bench.window},
             {"threads", at::get_num_threads()},
             {"dtype", options.dtype}};
    for (const Row& row : rows) {
      out["rows"].push_back({{"name", row.name},
                             {"seconds", row.seconds},
                             {"loss", row.loss},
                             {"gradient_norm", row.gradient_norm}});
    }
    fmt::print("{}\n", out.dump(2));
    return;
  }
  fmt::print("{:.1f} M parameters, windows of {} latents of {}x{}, {}, {} threads\n",
             static_cast<double>(parameters) / 1e6, options.bench.window, options.bench.width,
             options.bench.height, options.dtype, at::get_num_threads());
  fmt::print("{:<28}{:>12}{:>12}{:>10}\n", "forward and backward", "s/window", "windows/s",
             "ratio");
  for (const Row& row : rows) {
    fmt::print("{:<28}{:>12.3f}{:>12.2f}{:>10.2f}\n", row.name, row.seconds, 1 / row.seconds,
               row.seconds / rows.front().seconds);
  }
}

}  // namespace

void add_bench_train(CLI::App& app) {
  app.description("Measure the time of a training window, and optionally the same in PyTorch");
  auto options = std::make_shared<BenchTrainOptions>();
  app.add_option("config", options->config, "training config or model config")
      ->capture_default_str();
  app.add_option("--window", options->bench.window,
                 "window length in latent frames: 1 + a multiple of the chunk size")
      ->capture_default_str();
  app.add_option("--height", options->bench.height, "height of a latent frame")
      ->capture_default_str();
  app.add_option("--width", options->bench.width, "width of a latent frame")->capture_default_str();
  app.add_option("--repeats", options->bench.repeats,
                 "number of measured windows; the median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--dtype", options->dtype, "data type of matrix products")
      ->check(one_of({"fp32", "bf16"}))
      ->capture_default_str();
  app.add_flag("--torch", options->torch,
               "also run the same in PyTorch and check that loss and gradient agree");
  app.add_option("--python", options->python, "Python interpreter with torch")
      ->capture_default_str();
  app.add_option("--script", options->script, "PyTorch script")->capture_default_str();
  app.add_flag("--json", options->json, "print JSON");
  examples(app, {{"loci --threads 1 bench train --torch",
                  "the demo model on one core, in loci and in PyTorch"}});
  app.callback([options] { run_bench_train(*options); });
}

}  // namespace loci::app
