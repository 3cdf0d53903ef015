// SPDX-License-Identifier: Apache-2.0
// loci bench stream
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "loci/app/bench/bench_commands.h"
#include "loci/app/cli/command.h"
#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/text.h"
#include "loci/eval/cost/stream_cost.h"
#include "loci/eval/report/line_plot.h"
#include "loci/model/weights/summary.h"
#include "loci/model/weights/weights.h"
#include "loci/sample/stream/stream.h"

namespace loci::app {

namespace {

constexpr int64_t kPixelsPerLatent = 16;
constexpr double kMiB = 1024.0 * 1024;

struct BenchStreamOptions {
  std::string model;
  int64_t heads = 2, layers = 4;
  int64_t width = 192, height = 128;
  int64_t steps = 4;
  std::vector<double> seconds = {10, 20, 40, 80};
  std::vector<std::string> models = {"loci", "softmax"};
  std::vector<std::string> histories = {"sparse", "dense"};
  std::string dtype = "fp32", kv = "plain";
  int64_t staging_mib = 0;
  std::string out;
  bool json = false;
};

// Costs of one model and history at one video length.
struct Row {
  std::string model, history;
  eval::StreamCost cost;
};

model::TransformerConfig bench_config(const BenchStreamOptions& o) {
  if (!o.model.empty()) return model::open_model(o.model).config;
  model::TransformerConfig config;
  config.heads = o.heads;
  config.layers = o.layers;
  config.ffn_dim = 4 * config.width();
  config.text_dim = 64;
  config.text_len = 16;
  config.camera_attn_compress = o.heads % 2 == 0 ? 2 : 1;
  config.hybrid_layers.clear();
  for (int64_t layer = 1; layer < o.layers; layer += 2) config.hybrid_layers.push_back(layer);
  return config;
}

std::vector<eval::StreamCost> measure(const BenchStreamOptions& o, const std::string& model_name,
                                      const std::string& history) {
  const model::TransformerConfig base = bench_config(o);
  const model::TransformerConfig config =
      model_name == "softmax" ? model::full_softmax(base) : base;
  // Time and memory do not depend on the weights.
  const model::Transformer transformer(
      config, std::make_shared<model::Parameters>(model::Parameters::Options{
                  .dtype = o.dtype == "bf16" ? at::kBFloat16 : at::kFloat, .seed = 1}));
  sample::StreamOptions options;
  options.latent_height = o.height / kPixelsPerLatent;
  options.latent_width = o.width / kPixelsPerLatent;
  options.history.kind = history;
  options.kv.format = memory::parse_kv_format(o.kv);
  options.kv.staging_bytes = o.staging_mib << 20;
  options.solver.steps = o.steps;
  constexpr double kLatentsPerSecond = 4;  // of the published models: 16 frames per second
  return eval::measure_stream(transformer, options, o.seconds,
                              fmt::format("{} {}", model_name, history), kLatentsPerSecond);
}

Json to_json(const Row& row) {
  return {{"model", row.model},
          {"history", row.history},
          {"seconds", row.cost.seconds},
          {"latents", row.cost.latents},
          {"seconds_a_chunk", row.cost.chunk_seconds},
          {"cpu_seconds_a_chunk", row.cost.chunk_cpu},
          {"history_bytes", row.cost.history_bytes},
          {"resident_bytes", row.cost.resident},
          {"peak_bytes", row.cost.peak}};
}

std::string to_csv(const std::vector<Row>& rows) {
  std::string text =
      "model,history,seconds,latents,seconds_a_chunk,cpu_seconds_a_chunk,history_bytes,resident_"
      "bytes,peak_bytes\n";
  for (const Row& row : rows) {
    text +=
        fmt::format("{},{},{},{},{:.6f},{:.6f},{},{},{}\n", row.model, row.history,
                    row.cost.seconds, row.cost.latents, row.cost.chunk_seconds, row.cost.chunk_cpu,
                    row.cost.history_bytes, row.cost.resident, row.cost.peak);
  }
  return text;
}

std::string to_svg(const std::vector<Row>& rows) {
  eval::PlotPanel time{"CPU seconds per chunk", "seconds of video", {}};
  eval::PlotPanel bytes{"history, MiB", "seconds of video", {}};
  eval::PlotPanel peak{"peak memory of the process, MiB", "seconds of video", {}};
  for (const Row& row : rows) {
    const std::string name = fmt::format("{}, {}", row.model, row.history);
    for (eval::PlotPanel* panel : {&time, &bytes, &peak}) {
      if (panel->series.empty() || panel->series.back().name != name) {
        panel->series.push_back({name, {}});
      }
    }
    time.series.back().points.emplace_back(row.cost.seconds, row.cost.chunk_cpu);
    bytes.series.back().points.emplace_back(row.cost.seconds,
                                            static_cast<double>(row.cost.history_bytes) / kMiB);
    peak.series.back().points.emplace_back(row.cost.seconds,
                                           static_cast<double>(row.cost.peak) / kMiB);
  }
  return eval::svg_plot({time, bytes, peak});
}

void run_stream(const BenchStreamOptions& given) {
  BenchStreamOptions o = given;
  std::sort(o.seconds.begin(), o.seconds.end());
  const int64_t side = kPixelsPerLatent * bench_config(o).patch;
  if (o.width % side != 0 || o.height % side != 0) {
    fail("--width and --height: {}x{} are not multiples of {} pixels", o.width, o.height, side);
  }
  std::vector<Row> rows;
  if (!o.json) {
    fmt::print(
        "{}x{}, {} blocks of width {}, {} denoising steps and a commit pass, {}, {} threads\n",
        o.width, o.height, bench_config(o).layers, bench_config(o).width(), o.steps, o.dtype,
        at::get_num_threads());
    fmt::print("{:<8} {:<9} {:>9} {:>8} {:>10} {:>10} {:>12} {:>12} {:>12}\n", "model", "history",
               "video s", "latents", "s/chunk", "CPU s", "history", "resident", "peak");
  }
  for (const std::string& history : o.histories) {
    for (const std::string& name : o.models) {
      for (const eval::StreamCost& cost : measure(o, name, history)) {
        rows.push_back({name, history, cost});
        if (o.json) continue;
        fmt::print("{:<8} {:<9} {:>9.2f} {:>8} {:>10.4f} {:>10.4f} {:>12} {:>12} {:>12}\n", name,
                   history, cost.seconds, cost.latents, cost.chunk_seconds, cost.chunk_cpu,
                   format_bytes(cost.history_bytes), format_bytes(cost.resident),
                   format_bytes(cost.peak));
        std::fflush(stdout);
      }
    }
  }
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(to_json(row));
  const Json report = {{"config", bench_config(o).to_json()},
                       {"size", {o.width, o.height}},
                       {"steps", o.steps},
                       {"dtype", o.dtype},
                       {"kv", o.kv},
                       {"staging_mib", o.staging_mib},
                       {"threads", at::get_num_threads()},
                       {"rows", list}};
  if (o.json) fmt::print("{}\n", report.dump(2));
  if (o.out.empty()) return;
  write_file(o.out + ".json", report.dump(2) + "\n");
  write_file(o.out + ".csv", to_csv(rows));
  write_file(o.out + ".svg", to_svg(rows));
}

}  // namespace

void add_bench_stream(CLI::App& app) {
  app.description("Measure time per chunk and memory as a function of video length");
  auto o = std::make_shared<BenchStreamOptions>();
  app.add_option("--config", o->model,
                 "model folder or config.json that defines the model size; weights are random")
      ->type_name("PATH");
  app.add_option("--heads", o->heads, "number of heads of 128 channels; ignored with --config")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--layers", o->layers, "number of blocks; ignored with --config")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--width", o->width, "frame width in pixels")
      ->check(CLI::Range(32, 8192))
      ->capture_default_str();
  app.add_option("--height", o->height, "frame height in pixels")
      ->check(CLI::Range(32, 8192))
      ->capture_default_str();
  app.add_option("--steps", o->steps, "number of denoising steps")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--seconds", o->seconds, "video lengths to report, in seconds")
      ->delimiter(',')
      ->check(number_in(1.0, 360000.0))
      ->capture_default_str();
  app.add_option("--models", o->models,
                 "loci = hybrid blocks, softmax = the same size with softmax blocks only")
      ->delimiter(',')
      ->check(one_of({"loci", "softmax"}))
      ->capture_default_str();
  app.add_option("--histories", o->histories, "history policies to compare")
      ->delimiter(',')
      ->check(one_of(memory::history_names()))
      ->capture_default_str();
  app.add_option("--dtype", o->dtype, "data type of matrix products")
      ->check(one_of({"fp32", "bf16"}))
      ->capture_default_str();
  add_kv_options(app, o->kv, o->staging_mib);
  app.add_option("--out", o->out, "write PREFIX.json, PREFIX.csv and PREFIX.svg")
      ->type_name("PREFIX");
  app.add_flag("--json", o->json, "print JSON");
  examples(app, {{"loci bench stream --out stream", "four small streams of 80 s, with a plot"},
                 {"loci bench stream --histories sparse --models loci --seconds 60,600,3600",
                  "an hour of video with a bounded history"},
                 {"loci bench stream --histories sparse,window,overlap,landmarks,content",
                  "history policies with the same budget"}});
  app.callback([o] { run_stream(*o); });
}

}  // namespace loci::app
