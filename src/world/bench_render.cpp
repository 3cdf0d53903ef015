// SPDX-License-Identifier: Apache-2.0
#include "loci/world/bench_render.h"

#include <chrono>
#include <ctime>

#include "loci/base/interrupt.h"
#include "loci/world/path/free_space.h"
#include "loci/world/render/renderer.h"

namespace loci::world {

namespace {

constexpr uint64_t kSeed = 7;

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Scene bench_world(Style style, const ClipOptions& options) {
  SceneOptions world = options.scene;
  world.style = style;
  return make_scene(kSeed, world);
}

std::vector<camera::Pose> bench_path(const Scene& world) {
  PathOptions path;
  path.frames = 320;
  return make_path(FreeSpace(world), world, kSeed, path);
}

}  // namespace

BenchScene bench_scene(Style style, const ClipOptions& options) {
  BenchScene scene{bench_world(style, options), {}};
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
  // The clock of the processor has coarse ticks on some systems.
  timing.cpu_seconds = std::max(
      static_cast<double>(std::clock() - cpu_start) / static_cast<double>(CLOCKS_PER_SEC), 1e-6);
  return timing;
}

std::vector<RenderSpeed> measure_rendering(const ClipOptions& options,
                                           const std::vector<int>& threads, double seconds) {
  std::vector<RenderSpeed> results;
  make_scene(kSeed);  // the shared patterns are not part of a world's time
  const camera::Lens lens = lens_of(options);
  std::vector<uint8_t> rgb(static_cast<size_t>(options.width) *
                           static_cast<size_t>(options.height) * 3);
  for (const Style style : kTrainingStyles) {
    RenderSpeed speed;
    speed.style = name_of(style);
    speed.tracer = best_tracer().name;
    const Clock::time_point start = Clock::now();
    const Scene world = bench_world(style, options);
    speed.world_ms = since(start) * 1e3;
    const std::vector<camera::Pose> poses = bench_path(world);
    for (const int count : threads) {
      RenderOptions render_with = render_options(options);
      render_with.threads = count;
      const Timing timing = time_views(poses.size(), seconds, [&](size_t at) {
        render(world, {poses[at], lens}, render_with, rgb.data());
      });
      const auto frames = static_cast<double>(timing.frames);
      speed.rates.push_back({count, frames / timing.seconds, frames / timing.cpu_seconds});
    }
    results.push_back(std::move(speed));
  }
  return results;
}

}  // namespace loci::world
