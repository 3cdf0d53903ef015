// SPDX-License-Identifier: Apache-2.0
#include "loci/world/render/tracer_kernel.h"

namespace loci::world {

extern const Tracer kAvx512Tracer;
const Tracer kAvx512Tracer = {"avx512", render, visibility};

}  // namespace loci::world
