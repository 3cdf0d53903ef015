// SPDX-License-Identifier: Apache-2.0
// loci bench stream
#include "loci/app/bench_stream.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "loci/app/command.h"
#include "loci/eval/line_plot.h"
#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/interrupt.h"
#include "loci/base/machine.h"
#include "loci/base/progress.h"
#include "loci/base/text.h"
#include "loci/model/summary.h"
#include "loci/model/weights.h"
#include "loci/sample/stream.h"

namespace loci::app {

namespace {

constexpr double kFps = 16;
constexpr int64_t kFramesPerLatent = 4;
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

// One model and history after so many seconds of video.
struct Row {
  std::string model, history;
  double seconds = 0;
  int64_t latents = 0;
  double chunk_seconds = 0;    // median over the chunks since the row before
  double chunk_cpu = 0;        // the same of processor seconds, over all threads
  uint64_t history_bytes = 0;  // states and slots allocated
  uint64_t resident = 0;       // of the process, now
  uint64_t peak = 0;           // since the stream began
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

// A walk on a circle of 8 m at 1 m/s, the camera turning ahead of it: it revisits.
camera::Pose walk(int64_t latent) {
  const double t = static_cast<double>(latent * kFramesPerLatent) / kFps;
  const double angle = t / 8;
  return {camera::rotation_from_angles(angle + 0.4 * std::sin(t / 3), 0),
          {8 * (1 - std::cos(angle)), 0, 8 * std::sin(angle)}};
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

std::vector<Row> measure(const BenchStreamOptions& o, const std::string& model_name,
                         const std::string& history) {
  using Clock = std::chrono::steady_clock;
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
  malloc_trim(0);
  reset_peak_memory();
  sample::Stream stream(transformer, nullptr, options, {});
  const std::vector<camera::Intrinsics> lenses(static_cast<size_t>(config.chunk_size));
  const std::vector<camera::Pose> origin = {walk(0)};
  stream.accept(at::randn({1, config.channels, 1, options.latent_height, options.latent_width}),
                origin, std::span(lenses).first(1));
  const double chunk_video = static_cast<double>(config.chunk_size * kFramesPerLatent) / kFps;
  const auto total = static_cast<uint64_t>(std::ceil(o.seconds.back() / chunk_video));
  Progress progress(fmt::format("{} {}", model_name, history), total, "chunks");
  std::vector<Row> rows;
  std::vector<double> times, processor;
  for (const double seconds : o.seconds) {
    while (static_cast<double>((stream.frames() - 1) * kFramesPerLatent) / kFps < seconds) {
      check_interrupt();
      std::vector<camera::Pose> poses;
      for (int64_t i = 0; i < config.chunk_size; ++i) poses.push_back(walk(stream.frames() + i));
      const auto started = Clock::now();
      const std::clock_t processor_started = std::clock();
      stream.push(poses, lenses);
      stream.settle();
      times.push_back(std::chrono::duration<double>(Clock::now() - started).count());
      processor.push_back(static_cast<double>(std::clock() - processor_started) / CLOCKS_PER_SEC);
      progress.advance();
    }
    if (times.empty()) continue;  // a length within the chunk of the one before
    const ProcessMemory held = process_memory().value_or(ProcessMemory());
    rows.push_back({model_name, history,
                    static_cast<double>((stream.frames() - 1) * kFramesPerLatent) / kFps,
                    stream.frames(), median(times), median(processor),
                    static_cast<uint64_t>(stream.history_bytes()), held.now, held.peak});
    times.clear();
    processor.clear();
  }
  return rows;
}

Json to_json(const Row& row) {
  return {{"model", row.model},
          {"history", row.history},
          {"seconds", row.seconds},
          {"latents", row.latents},
          {"seconds_a_chunk", row.chunk_seconds},
          {"cpu_seconds_a_chunk", row.chunk_cpu},
          {"history_bytes", row.history_bytes},
          {"resident_bytes", row.resident},
          {"peak_bytes", row.peak}};
}

std::string to_csv(const std::vector<Row>& rows) {
  std::string text =
      "model,history,seconds,latents,seconds_a_chunk,cpu_seconds_a_chunk,history_bytes,resident_"
      "bytes,peak_bytes\n";
  for (const Row& row : rows) {
    text += fmt::format("{},{},{},{},{:.6f},{:.6f},{},{},{}\n", row.model, row.history, row.seconds,
                        row.latents, row.chunk_seconds, row.chunk_cpu, row.history_bytes,
                        row.resident, row.peak);
  }
  return text;
}

std::string to_svg(const std::vector<Row>& rows) {
  eval::PlotPanel time{"processor seconds a chunk", "seconds of video", {}};
  eval::PlotPanel bytes{"history, MiB", "seconds of video", {}};
  eval::PlotPanel peak{"peak memory of the process, MiB", "seconds of video", {}};
  for (const Row& row : rows) {
    const std::string name = fmt::format("{}, {}", row.model, row.history);
    for (eval::PlotPanel* panel : {&time, &bytes, &peak}) {
      if (panel->series.empty() || panel->series.back().name != name) {
        panel->series.push_back({name, {}});
      }
    }
    time.series.back().points.emplace_back(row.seconds, row.chunk_cpu);
    bytes.series.back().points.emplace_back(row.seconds,
                                            static_cast<double>(row.history_bytes) / kMiB);
    peak.series.back().points.emplace_back(row.seconds, static_cast<double>(row.peak) / kMiB);
  }
  return eval::svg_plot({time, bytes, peak});
}

void run_stream(const BenchStreamOptions& given) {
  BenchStreamOptions o = given;
  std::sort(o.seconds.begin(), o.seconds.end());
  const int64_t side = kPixelsPerLatent * bench_config(o).patch;
  if (o.width % side != 0 || o.height % side != 0) {
    fail("{}x{} pixels do not divide into tokens of {}", o.width, o.height, side);
  }
  std::vector<Row> rows;
  if (!o.json) {
    fmt::print("{}x{}, {} blocks of width {}, {} steps and a commit, {}, {} threads\n", o.width,
               o.height, bench_config(o).layers, bench_config(o).width(), o.steps, o.dtype,
               at::get_num_threads());
    fmt::print("{:<8} {:<9} {:>9} {:>8} {:>10} {:>10} {:>12} {:>12} {:>12}\n", "model", "history",
               "video s", "latents", "s/chunk", "CPU s", "history", "resident", "peak");
  }
  for (const std::string& history : o.histories) {
    for (const std::string& name : o.models) {
      for (const Row& row : measure(o, name, history)) {
        rows.push_back(row);
        if (o.json) continue;
        fmt::print("{:<8} {:<9} {:>9.2f} {:>8} {:>10.4f} {:>10.4f} {:>12} {:>12} {:>12}\n",
                   row.model, row.history, row.seconds, row.latents, row.chunk_seconds,
                   row.chunk_cpu, format_bytes(row.history_bytes), format_bytes(row.resident),
                   format_bytes(row.peak));
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
  app.description("seconds a chunk and memory against length, by model and history");
  auto o = std::make_shared<BenchStreamOptions>();
  app.add_option("--config", o->model, "sizes from this model or config.json; weights are random")
      ->type_name("PATH");
  app.add_option("--heads", o->heads, "heads of 128 channels, without --config")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--layers", o->layers, "blocks, without --config")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--width", o->width, "pixels")->check(CLI::Range(32, 8192))->capture_default_str();
  app.add_option("--height", o->height, "pixels")
      ->check(CLI::Range(32, 8192))
      ->capture_default_str();
  app.add_option("--steps", o->steps, "of the solver")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--seconds", o->seconds, "lengths of video to report at")
      ->delimiter(',')
      ->check(CLI::Range(1.0, 360000.0))
      ->capture_default_str();
  app.add_option("--models", o->models, "the hybrid, and the same size with softmax alone")
      ->delimiter(',')
      ->check(CLI::IsMember(std::vector<std::string>{"loci", "softmax"}))
      ->capture_default_str();
  app.add_option("--histories", o->histories, "policies to compare")
      ->delimiter(',')
      ->check(CLI::IsMember(memory::history_names()))
      ->capture_default_str();
  app.add_option("--dtype", o->dtype, "type of products")
      ->check(CLI::IsMember(std::vector<std::string>{"fp32", "bf16"}))
      ->capture_default_str();
  app.add_option("--kv", o->kv, "how keys and values are stored")
      ->check(CLI::IsMember(memory::kv_format_names()))
      ->capture_default_str();
  app.add_option("--staging", o->staging_mib,
                 "most memory for history gathered ahead of a chunk's steps; no limit: 0")
      ->type_name("MIB")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  app.add_option("--out", o->out, "write PREFIX.json, PREFIX.csv and PREFIX.svg")
      ->type_name("PREFIX");
  app.add_flag("--json", o->json, "print JSON");
  examples(app, {{"loci bench stream --out stream", "four small streams of 80 s, with a plot"},
                 {"loci bench stream --histories sparse --models loci --seconds 60,600,3600",
                  "an hour of bounded memory"},
                 {"loci bench stream --histories sparse,window,overlap,landmarks,content",
                  "policies under one budget"}});
  app.callback([o] { run_stream(*o); });
}

}  // namespace loci::app
