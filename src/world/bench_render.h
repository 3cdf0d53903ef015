// SPDX-License-Identifier: Apache-2.0
// How fast worlds are made and rendered on this machine.
#pragma once

#include <string>
#include <vector>

#include "loci/world/clip/clip_maker.h"

namespace loci::world {

struct RenderSpeed {
  struct Rate {
    int threads = 1;
    double frames_a_second = 0;
    // Over the processor time of all threads: what an idle machine would give for each of them.
    double frames_a_cpu_second = 0;
  };

  std::string style;
  std::string tracer;       // instruction set
  double world_ms = 0;      // to make a world, light included
  std::vector<Rate> rates;  // for each number of threads
};

// What is rendered for a style: a world and views along a walk through it.
struct BenchScene {
  Scene scene;
  std::vector<camera::Pose> poses;
};
BenchScene bench_scene(Style style, const ClipOptions& options);

// Elapsed and processor seconds of `frames` views.
struct Timing {
  int64_t frames = 0;
  double seconds = 0, cpu_seconds = 0;
};
// Calls `view` with places of a list of `count` in a step that visits the whole list evenly however
// short the time: for `seconds`, and eight times at least.
Timing time_views(size_t count, double seconds, const std::function<void(size_t)>& view);

// For every training style. `seconds` is the time spent on each figure.
std::vector<RenderSpeed> measure_rendering(const ClipOptions& options,
                                           const std::vector<int>& threads, double seconds);

// The first surface that rays meet, here and in Embree, one thread, in million rays a second of
// processor time: depth only, one ray through each pixel's centre.
struct RayComparison {
  std::string style;
  size_t solids = 0, triangles = 0;  // the same scene for each
  double ours = 0, embree = 0;
  double agreement = 0;  // share of rays whose depths differ by less than 2 %
};
// A build without Embree says so as bad input.
std::vector<RayComparison> compare_with_embree(const ClipOptions& options, double seconds);

}  // namespace loci::world
