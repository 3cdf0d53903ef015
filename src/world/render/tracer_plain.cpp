// SPDX-License-Identifier: Apache-2.0
#include "loci/world/render/tracer_kernel.h"

namespace loci::world {

extern const Tracer kPlainTracer;
const Tracer kPlainTracer = {"plain", render, visibility};

}  // namespace loci::world
