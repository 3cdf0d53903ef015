// SPDX-License-Identifier: Apache-2.0
// Measurements of `loci bench render`: how fast scenes are generated and rendered.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "loci/world/clip/clip_maker.h"

namespace loci::app {

struct RenderSpeed {
  struct Rate {
    int threads = 1;
    double frames_a_second = 0;
    // Frames per CPU second, summed over all threads: the rate per thread on an idle machine.
    double frames_a_cpu_second = 0;
  };

  std::string style;
  std::string tracer;       // instruction set
  double scene_ms = 0;      // to generate a scene, including its light
  std::vector<Rate> rates;  // for each number of threads
};

// The benchmark's scene of a style and poses along a trajectory.
struct BenchScene {
  world::Scene scene;
  std::vector<camera::Pose> poses;
};
BenchScene bench_scene(world::Style style, const world::ClipOptions& options);

// Elapsed and CPU seconds of `frames` calls.
struct Timing {
  int64_t frames = 0;
  double seconds = 0, cpu_seconds = 0;
};
// Calls `view` with indices below `count` for `seconds`, at least eight times. The indices are
// spread evenly over the range however short the time is.
Timing time_views(size_t count, double seconds, const std::function<void(size_t)>& view);

// Measures every training style for `seconds` per number of threads.
std::vector<RenderSpeed> measure_rendering(const world::ClipOptions& options,
                                           const std::vector<int>& threads, double seconds);

// Ray casting by loci and by Embree on one thread: depth only, one ray through the centre of each
// pixel.
struct RayComparison {
  std::string style;
  size_t solids = 0, triangles = 0;  // of the scene in loci and in Embree
  double ours = 0, embree = 0;       // million rays per CPU second
  double agreement = 0;              // share of rays whose depths differ by less than 2 %
};
// Bad input in a build without Embree.
std::vector<RayComparison> compare_with_embree(const world::ClipOptions& options, double seconds);

}  // namespace loci::app
