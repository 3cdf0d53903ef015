// SPDX-License-Identifier: Apache-2.0
#include "loci/app/bench/measure_render.h"

#include <chrono>
#include <ctime>

#include "loci/base/interrupt.h"
#include "loci/world/path/free_space.h"
#include "loci/world/render/renderer.h"

namespace loci::app {

namespace {

constexpr uint64_t kSeed = 7;

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

world::Scene bench_scene_of(world::Style style, const world::ClipOptions& options) {
  world::SceneOptions scene = options.scene;
  scene.style = style;
  return world::make_scene(kSeed, scene);
}

std::vector<camera::Pose> bench_path(const world::Scene& scene) {
  world::PathOptions path;
  path.frames = 320;
  return world::make_path(world::FreeSpace(scene), scene, kSeed, path);
}

}  // namespace

BenchScene bench_scene(world::Style style, const world::ClipOptions& options) {
  BenchScene scene{bench_scene_of(style, options), {}};
  scene.poses = bench_path(scene.scene);
  return scene;
}

Timing time_views(size_t count, double seconds, const std::function<void(size_t)>& view) {
  Timing timing;
  const std::clock_t cpu_start = std::clock();
  const Clock::time_point start = Clock::now();
  for (size_t at = 0; since(start) < seconds || timing.frames < 8; at = (at + 131) % count) {
    check_interrupt();
    view(at);
    ++timing.frames;
  }
  timing.seconds = since(start);
  // CPU time has coarse ticks on some systems.
  timing.cpu_seconds = std::max(
      static_cast<double>(std::clock() - cpu_start) / static_cast<double>(CLOCKS_PER_SEC), 1e-6);
  return timing;
}

std::vector<RenderSpeed> measure_rendering(const world::ClipOptions& options,
                                           const std::vector<int>& threads, double seconds) {
  std::vector<RenderSpeed> results;
  world::make_scene(kSeed);  // builds the shared patterns, which are not part of the measurement
  const camera::Lens lens = world::lens_of(options);
  std::vector<uint8_t> rgb(static_cast<size_t>(options.width) *
                           static_cast<size_t>(options.height) * 3);
  for (const world::Style style : world::kTrainingStyles) {
    RenderSpeed speed;
    speed.style = world::name_of(style);
    speed.tracer = world::best_tracer().name;
    const Clock::time_point start = Clock::now();
    const world::Scene scene = bench_scene_of(style, options);
    speed.scene_ms = since(start) * 1e3;
    const std::vector<camera::Pose> poses = bench_path(scene);
    for (const int count : threads) {
      world::RenderOptions render_with = world::render_options(options);
      render_with.threads = count;
      const Timing timing = time_views(poses.size(), seconds, [&](size_t at) {
        world::render(scene, {poses[at], lens}, render_with, rgb.data());
      });
      const auto frames = static_cast<double>(timing.frames);
      speed.rates.push_back({count, frames / timing.seconds, frames / timing.cpu_seconds});
    }
    results.push_back(std::move(speed));
  }
  return results;
}

}  // namespace loci::app
