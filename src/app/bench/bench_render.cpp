// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "loci/app/bench/bench_commands.h"
#include "loci/app/bench/measure_render.h"
#include "loci/app/cli/command.h"
#include "loci/base/config.h"

namespace loci::app {

namespace {

struct BenchRenderOptions {
  std::vector<int> threads = {1, 2};
  double seconds = 0.5;
  bool embree = false, json = false;
};

Json to_json(const std::vector<RenderSpeed>& speeds) {
  Json rows = Json::array();
  for (const RenderSpeed& speed : speeds) {
    for (const RenderSpeed::Rate& rate : speed.rates) {
      rows.push_back({{"style", speed.style},
                      {"tracer", speed.tracer},
                      {"threads", rate.threads},
                      {"world_ms", speed.scene_ms},
                      {"frames_a_second", rate.frames_a_second},
                      {"frames_a_cpu_second", rate.frames_a_cpu_second}});
    }
  }
  return rows;
}

Json to_json(const std::vector<RayComparison>& rows) {
  Json list = Json::array();
  for (const RayComparison& row : rows) {
    list.push_back({{"style", row.style},
                    {"solids", row.solids},
                    {"triangles", row.triangles},
                    {"mrays_a_cpu_second", row.ours},
                    {"embree_mrays_a_cpu_second", row.embree},
                    {"agreement", row.agreement}});
  }
  return list;
}

// One line per style, one column per number of threads.
void print_table(const std::vector<RenderSpeed>& speeds) {
  fmt::print("192x128, 2 samples per pixel, tracer {}; frames per second (per CPU second)\n",
             speeds.front().tracer);
  fmt::print("{:<12}{:>9}", "style", "scene ms");
  for (const auto& rate : speeds.front().rates) {
    fmt::print("{:>20}", fmt::format("{} thread{}", rate.threads, rate.threads == 1 ? "" : "s"));
  }
  fmt::print("\n");
  for (const RenderSpeed& speed : speeds) {
    fmt::print("{:<12}{:>9.1f}", speed.style, speed.scene_ms);
    for (const auto& rate : speed.rates) {
      fmt::print("{:>20}",
                 fmt::format("{:.1f} ({:.1f})", rate.frames_a_second, rate.frames_a_cpu_second));
    }
    fmt::print("\n");
  }
}

void print_table(const std::vector<RayComparison>& rows) {
  fmt::print("\ndepth only, one thread, million rays per CPU second\n");
  fmt::print("{:<12}{:>8}{:>11}{:>8}{:>8}{:>12}\n", "style", "solids", "triangles", "loci",
             "Embree", "agreement");
  for (const RayComparison& row : rows) {
    fmt::print("{:<12}{:>8}{:>11}{:>8.1f}{:>8.1f}{:>10.1f} %\n", row.style, row.solids,
               row.triangles, row.ours, row.embree, 100 * row.agreement);
  }
}

void run_bench_render(const BenchRenderOptions& options) {
  const world::ClipOptions clip;
  const auto speeds = measure_rendering(clip, options.threads, options.seconds);
  if (!options.json) print_table(speeds);
  Json json = {{"rows", to_json(speeds)}};
  if (options.embree) {
    const auto rows = compare_with_embree(clip, options.seconds);
    if (!options.json) print_table(rows);
    json["embree"] = to_json(rows);
  }
  if (options.json) fmt::print("{}\n", json.dump(2));
}

}  // namespace

void add_bench_render(CLI::App& app) {
  app.description("Measure the rendering speed of procedural scenes by style");
  auto options = std::make_shared<BenchRenderOptions>();
  app.add_option("--threads-list", options->threads, "numbers of threads to measure")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--seconds", options->seconds, "measuring time per value in seconds")
      ->check(number_in(0.01, 600.0))
      ->capture_default_str();
  app.add_flag("--embree", options->embree,
               "compare with Embree; needs a build with -DLOCI_EMBREE=ON");
  app.add_flag("--json", options->json, "print JSON");
  examples(app, {{"loci bench render", "every style with one and with two threads"},
                 {"loci bench render --threads-list 1 --json", "one thread, print JSON"}});
  app.callback([options] { run_bench_render(*options); });
}

}  // namespace loci::app
