// SPDX-License-Identifier: Apache-2.0
// How fast worlds are made and rendered on this machine.
#pragma once

#include <string>
#include <vector>

#include "loci/world/clip.h"

namespace loci::world {

struct RenderSpeed {
  std::string style;
  std::string tracer;  // instruction set
  int threads = 1;
  double world_ms = 0;  // to make a world, light included
  double frames_a_second = 0;
};

// For every training style: several worlds, frames along a walk. `seconds` is the time spent on
// each figure.
std::vector<RenderSpeed> measure_rendering(const ClipOptions& options, double seconds = 0.5);

}  // namespace loci::world
