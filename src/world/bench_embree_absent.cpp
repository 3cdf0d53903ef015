// SPDX-License-Identifier: Apache-2.0
#include "loci/base/error.h"
#include "loci/world/bench_render.h"

namespace loci::world {

std::vector<RayComparison> compare_with_embree(const ClipOptions& /*options*/, double /*seconds*/) {
  fail("this build has no Embree; install libembree-dev and configure with -DLOCI_EMBREE=ON");
}

}  // namespace loci::world
