// SPDX-License-Identifier: Apache-2.0
#include "loci/world/render/tracer_kernel.h"

namespace loci::world {

extern const Tracer kAvx2Tracer;
const Tracer kAvx2Tracer = {"avx2", render, visibility};

}  // namespace loci::world
