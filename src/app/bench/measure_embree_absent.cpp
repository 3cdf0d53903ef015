// SPDX-License-Identifier: Apache-2.0
#include "loci/app/bench/measure_render.h"
#include "loci/base/error.h"

namespace loci::app {

std::vector<RayComparison> compare_with_embree(const world::ClipOptions& /*options*/,
                                               double /*seconds*/) {
  fail("this build has no Embree; install libembree-dev and configure with -DLOCI_EMBREE=ON");
}

}  // namespace loci::app
