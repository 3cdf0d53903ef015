// SPDX-License-Identifier: Apache-2.0
// loci bench
#include <cstdio>
#include <string>
#include <vector>

#include "loci/app/command.h"
#include "loci/base/config.h"
#include "loci/world/bench_render.h"

namespace loci::app {

namespace {

struct RenderOptions {
  std::vector<int> threads = {1, 2};
  double seconds = 0.5;
  bool json = false;
};

void run_render(const RenderOptions& options) {
  Json rows = Json::array();
  if (!options.json) {
    std::printf("192x128, 2 samples a pixel\n%-12s %-8s %7s %9s %9s\n", "style", "tracer",
                "threads", "world ms", "frames/s");
  }
  for (const int threads : options.threads) {
    world::ClipOptions clip;
    clip.threads = threads;
    for (const world::RenderSpeed& speed : world::measure_rendering(clip, options.seconds)) {
      if (options.json) {
        rows.push_back({{"style", speed.style},
                        {"tracer", speed.tracer},
                        {"threads", speed.threads},
                        {"world_ms", speed.world_ms},
                        {"frames_a_second", speed.frames_a_second}});
      } else {
        std::printf("%-12s %-8s %7d %9.1f %9.1f\n", speed.style.c_str(), speed.tracer.c_str(),
                    speed.threads, speed.world_ms, speed.frames_a_second);
      }
    }
  }
  if (options.json) std::printf("%s\n", Json{{"render", rows}}.dump(2).c_str());
}

}  // namespace

void add_bench(CLI::App& app) {
  app.description("Measure how fast this machine does the work.");
  CLI::App* render = app.add_subcommand("render", "frames a second of procedural worlds, by style");
  auto options = std::make_shared<RenderOptions>();
  render->add_option("--threads-list", options->threads, "numbers of threads to try")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  render->add_option("--seconds", options->seconds, "time spent on each figure")
      ->check(CLI::Range(0.01, 600.0))
      ->capture_default_str();
  render->add_flag("--json", options->json, "print JSON");
  examples(*render, {{"loci bench render", "every style on one and on two threads"},
                     {"loci bench render --threads-list 1 --json", "for a script"}});
  render->callback([options] { run_render(*options); });
}

}  // namespace loci::app
