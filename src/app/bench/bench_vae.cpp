// SPDX-License-Identifier: Apache-2.0
// loci bench vae
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include "loci/app/bench/bench_commands.h"
#include "loci/app/cli/command.h"
#include "loci/app/tools/models.h"
#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/base/machine.h"
#include "loci/base/progress.h"
#include "loci/camera/time_grid.h"
#include "loci/eval/cost/conv_profile.h"
#include "loci/kernels/machine/peak.h"
#include "loci/model/autoencoder/vae_stream.h"

namespace loci::app {

namespace {

struct BenchVaeOptions {
  std::string model, decoder;
  int64_t width = 768, height = 512;
  std::vector<int64_t> latents = {1, 2, 3};
  std::string direction = "both", dtype = "fp32", state = "auto";
  model::VaeTiling tiling;
  bool convolutions = false, json = false;
};

struct Figure {
  std::string direction;
  int64_t latents = 0, frames = 0;
  uint64_t peak = 0;   // bytes above the memory in use before the clip
  uint64_t state = 0;  // bytes of it that are kept between calls
  double seconds = 0;  // since the start of the clip
};

constexpr double kGiB = 1024.0 * 1024 * 1024;

model::Vae open_vae(const BenchVaeOptions& options) {
  const model::VaeOptions settings{.dtype = options.dtype == "bf16" ? at::kBFloat16 : at::kFloat};
  if (options.model.empty()) return model::Vae(model::VaeConfig::wan22(), settings);
  // A config without weights gets random weights.
  if (options.model.ends_with(".json")) {
    const Json json = load_json(options.model);
    return model::Vae(
        model::VaeConfig::from_json(json.value("model", json), options.model + ": model"),
        settings);
  }
  return model::Vae::load(options.model, settings);
}

uint64_t current(uint64_t ProcessMemory::*member) {
  const std::optional<ProcessMemory> memory = process_memory();
  if (!memory) fail_machine("cannot measure memory: /proc/self/status has no VmRSS or VmHWM");
  return (*memory).*member;
}

// Streams one clip of the longest of `lengths` (sorted). Its work up to a length is the same as
// that of a clip of this length, so the peak memory at this point is the peak of the shorter clip.
// `step` processes the next latent and returns the bytes of the state.
void measure(const std::string& direction, const model::VaeConfig& config,
             const std::vector<int64_t>& lengths, const std::function<uint64_t(bool first)>& step,
             const std::function<void(const Figure&)>& report) {
  ::malloc_trim(0);
  if (!reset_peak_memory()) {
    fail_machine("cannot measure memory: the system cannot reset the peak (/proc/self/clear_refs)");
  }
  const uint64_t before = current(&ProcessMemory::now);
  Progress progress(direction, static_cast<uint64_t>(lengths.back()), "latents");
  const auto start = std::chrono::steady_clock::now();
  for (int64_t latent = 1; latent <= lengths.back(); ++latent) {
    const uint64_t state = step(latent == 1);
    const auto passed = std::chrono::steady_clock::now() - start;
    progress.advance();
    if (!std::binary_search(lengths.begin(), lengths.end(), latent)) continue;
    const uint64_t peak = current(&ProcessMemory::peak);
    report({direction, latent, camera::TimeGrid{config.temporal_factor()}.frames_in_latents(latent),
            peak > before ? peak - before : 0, state,
            std::chrono::duration<double>(passed).count()});
  }
}

void run(const model::Vae& vae, const BenchVaeOptions& options,
         const std::function<void(const Figure&)>& report) {
  const at::NoGradGuard no_grad;
  const model::VaeConfig& config = vae.config();
  config.check_frame_size(options.height, options.width);
  std::vector<int64_t> lengths = options.latents;
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  const model::VaeStreamOptions stream{options.state == "half"   ? model::VaeState::kHalf
                                       : options.state == "full" ? model::VaeState::kFull
                                                                 : model::VaeState::kAuto,
                                       options.tiling};
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(0);
  const int64_t side = config.spatial_factor();
  if (options.direction != "encode") {
    model::VaeDecoder decoder(vae, stream);
    const auto step = [&](bool) {
      decoder.decode(at::randn({1, config.z_dim, 1, options.height / side, options.width / side},
                               generator, at::kFloat));
      return decoder.cache().bytes();
    };
    measure("decode", config, lengths, step, report);
  }
  if (options.direction != "decode") {
    model::VaeEncoder encoder(vae, stream);
    const auto step = [&](bool first) {
      const int64_t frames = first ? 1 : config.temporal_factor();
      encoder.encode(
          at::rand({1, 3, frames, options.height, options.width}, generator, at::kFloat) * 2 - 1);
      return encoder.cache().bytes();
    };
    measure("encode", config, lengths, step, report);
  }
}

// CPU time of the convolutions by shape, and the share of one core's peak. Only the calling thread
// is measured.
Json profile(const model::Vae& vae, const BenchVaeOptions& options) {
  if (at::get_num_threads() != 1) fail("--convolutions measures one thread; give --threads 1");
  Json all = Json::array();
  BenchVaeOptions one = options;
  for (const std::string direction : {"decode", "encode"}) {
    if (options.direction != "both" && options.direction != direction) continue;
    one.direction = direction;
    const double peak = *kernels::measure_peak(kernels::Arithmetic::kFloat, 0.5);
    const eval::ConvProfile conv;
    run(vae, one, [](const Figure&) {});
    const double total = conv.processor();
    if (!options.json) {
      fmt::print(
          "{}: {:.2f} CPU s; peak {:.1f} "
          "GFLOP/s\n{:>14}{:>7}{:>8}{:>12}{:>10}{:>9}{:>9}{:>9}\n",
          direction, total, peak / 1e9, "channels", "kernel", "stride", "output", "GFLOP",
          "GFLOP/s", "of peak", "of time");
    }
    for (const eval::ConvShape& shape : conv.shapes()) {
      const double rate = shape.operations / shape.processor;
      all.push_back({{"direction", direction},
                     {"channels", {shape.in, shape.out}},
                     {"kernel", shape.kernel},
                     {"stride", shape.stride},
                     {"output", {shape.height, shape.width}},
                     {"pictures", shape.pictures},
                     {"operations", shape.operations},
                     {"processor_seconds", shape.processor},
                     {"share_of_peak", rate / peak},
                     {"share_of_time", shape.processor / total}});
      if (options.json) continue;
      fmt::print("{:>14}{:>7}{:>8}{:>12}{:>10.2f}{:>9.1f}{:>7.0f} %{:>7.1f} %\n",
                 fmt::format("{} -> {}", shape.in, shape.out), shape.kernel, shape.stride,
                 fmt::format("{}x{}", shape.width, shape.height), shape.operations / 1e9,
                 rate / 1e9, 100 * rate / peak, 100 * shape.processor / total);
    }
  }
  return all;
}

void run_bench_vae(const BenchVaeOptions& options) {
  model::Vae vae = open_vae(options);
  if (!options.decoder.empty()) {
    vae.use_decoder(std::make_shared<model::TinyDecoder>(
        model::TinyDecoder::load(options.decoder, vae.dtype())));
  }
  const auto weights = static_cast<uint64_t>(vae.parameters().count()) *
                       static_cast<uint64_t>(c10::elementSize(vae.dtype()));
  if (options.convolutions) {
    const Json shapes = profile(vae, options);
    if (options.json) fmt::print("{}\n", Json{{"convolutions", shapes}}.dump(2));
    return;
  }
  if (options.json) {
    Json rows = Json::array();
    run(vae, options, [&rows](const Figure& figure) {
      rows.push_back({{"direction", figure.direction},
                      {"latents", figure.latents},
                      {"frames", figure.frames},
                      {"peak_bytes", figure.peak},
                      {"state_bytes", figure.state},
                      {"seconds", figure.seconds},
                      {"seconds_a_frame", figure.seconds / static_cast<double>(figure.frames)}});
    });
    const Json all = {{"size", {options.width, options.height}},
                      {"dtype", options.dtype},
                      {"weights_bytes", weights},
                      {"tile", options.tiling.tile},
                      {"threads", at::get_num_threads()},
                      {"rows", rows}};
    std::printf("%s\n", all.dump(2).c_str());
    return;
  }
  std::printf(
      "%ldx%ld pixels, %s, weights %.2f GiB, threads: %d%s\n", options.width, options.height,
      options.dtype.c_str(), static_cast<double>(weights) / kGiB, at::get_num_threads(),
      options.tiling.tile > 0 ? fmt::format(", tiles of {}", options.tiling.tile).c_str() : "");
  std::printf("%-8s %8s %7s %19s %10s %10s\n", "", "latents", "frames", "peak beyond weights",
              "state", "s/frame");
  run(vae, options, [](const Figure& figure) {
    std::printf("%-8s %8ld %7ld %15.3f GiB %6.3f GiB %10.2f\n", figure.direction.c_str(),
                figure.latents, figure.frames, static_cast<double>(figure.peak) / kGiB,
                static_cast<double>(figure.state) / kGiB,
                figure.seconds / static_cast<double>(figure.frames));
    std::fflush(stdout);
  });
}

}  // namespace

void add_bench_vae(CLI::App& app) {
  app.description(
      "Measure a video autoencoder on clips of several lengths: peak memory besides the weights, "
      "time per frame");
  auto options = std::make_shared<BenchVaeOptions>();
  app.add_option(
      "model", options->model,
      "folder or weights of an autoencoder, or a config.json for random weights (default: "
      "Wan2.2's size with random weights)");
  app.add_option("--decoder", options->decoder, decoder_help())->type_name("FILE");
  app.add_option("--width", options->width, "frame width in pixels")->capture_default_str();
  app.add_option("--height", options->height, "frame height in pixels")->capture_default_str();
  app.add_option("--latents", options->latents, "clip lengths in latents; a latent is 4 frames")
      ->delimiter(',')
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--direction", options->direction, "network to measure")
      ->check(one_of({"decode", "encode", "both"}))
      ->capture_default_str();
  app.add_option("--dtype", options->dtype, "data type of weights and arithmetic")
      ->check(one_of({"fp32", "bf16"}))
      ->capture_default_str();
  app.add_option("--state", options->state, "precision of the state between calls")
      ->check(one_of({"auto", "full", "half"}))
      ->capture_default_str();
  app.add_option("--tile", options->tiling.tile, "side of a tile in pixels; 0 = whole frames")
      ->capture_default_str();
  app.add_option("--overlap", options->tiling.overlap, "overlap of tiles in pixels")
      ->capture_default_str();
  app.add_flag("--convolutions", options->convolutions,
               "measure the convolutions by shape: time and share of the processor's peak");
  app.add_flag("--json", options->json, "print JSON");
  examples(app,
           {{"loci bench vae", "Wan2.2's autoencoder at 512x768; takes minutes on a CPU"},
            {"loci bench vae configs/mini-vae.json --width 192 --height 128 --latents 1,9,65",
             "the demo model's autoencoder"},
            {"loci bench vae --tile 256 --direction decode --json", "decode in tiles, print JSON"},
            {"loci --threads 1 bench vae --width 256 --height 192 --latents 2 --convolutions",
             "share of the processor's peak by convolution"}});
  app.callback([options] { run_bench_vae(*options); });
}

}  // namespace loci::app
