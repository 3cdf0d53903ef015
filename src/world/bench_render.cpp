// SPDX-License-Identifier: Apache-2.0
#include "loci/world/bench_render.h"

#include <chrono>

#include "loci/base/interrupt.h"
#include "loci/world/renderer.h"

namespace loci::world {

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

std::vector<RenderSpeed> measure_rendering(const ClipOptions& options, double seconds) {
  constexpr uint64_t kSeed = 7;
  std::vector<RenderSpeed> results;
  make_world(kSeed);  // the shared patterns are not part of a world's time
  for (const Style style : kTrainingStyles) {
    RenderSpeed speed;
    speed.style = name_of(style);
    speed.tracer = best_tracer().name;
    speed.threads = options.threads;
    WorldOptions world_options = options.world;
    world_options.style = style;
    const Clock::time_point world_start = Clock::now();
    const World world = make_world(kSeed, world_options);
    speed.world_ms = since(world_start) * 1e3;

    const Walkable walkable(world);
    PathOptions path;
    path.frames = 320;
    const std::vector<camera::Pose> poses = make_path(walkable, world, kSeed, path);
    camera::Intrinsics lens;
    lens.fov_x = options.fov * (kPi / 180);
    lens.xi = options.xi;
    RenderOptions render_options;
    render_options.width = options.width;
    render_options.height = options.height;
    render_options.samples = options.samples;
    render_options.edge_samples = options.samples > 1 ? options.samples : 0;
    render_options.threads = options.threads;
    std::vector<uint8_t> rgb(static_cast<size_t>(options.width) *
                             static_cast<size_t>(options.height) * 3);
    int64_t frames = 0;
    const Clock::time_point start = Clock::now();
    // A step that visits the whole path evenly however short the time.
    for (size_t at = 0; since(start) < seconds || frames < 8; at = (at + 131) % poses.size()) {
      check_interrupt();
      render(world, poses[at], lens, render_options, rgb.data());
      ++frames;
    }
    speed.frames_a_second = static_cast<double>(frames) / since(start);
    results.push_back(speed);
  }
  return results;
}

}  // namespace loci::world
