// SPDX-License-Identifier: Apache-2.0
#include "loci/world/tracer.h"

#include <cstdlib>
#include <string>

#include "loci/base/error.h"
#include "loci/world/patterns.h"

namespace loci::world {

extern const Tracer kPlainTracer;
#if defined(__x86_64__)
extern const Tracer kAvx2Tracer;
extern const Tracer kAvx512Tracer;
#endif

SceneView::SceneView(const Scene& from)
    : solids(from.solids.data()),
      planes(from.planes.data()),
      surfaces(from.surfaces.data()),
      materials(from.materials.data()),
      nodes(from.nodes.data()),
      light(from.light.data()),
      patterns(pattern_texels().data()),
      ground(from.ground.texels.data()),
      sky(from.sky.texels.data()),
      scene(&from) {}

const Tracer* find_tracer(std::string_view name) {
  if (name == "plain") return &kPlainTracer;
  if (name != "avx2" && name != "avx512") {
    fail("LOCI_ISA is '{}'; it must be plain, avx2 or avx512", name);
  }
#if defined(__x86_64__)
  if (name == "avx2" && __builtin_cpu_supports("avx2")) return &kAvx2Tracer;
  if (name == "avx512" && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return &kAvx512Tracer;
  }
#endif
  return nullptr;
}

const Tracer& best_tracer() {
  static const Tracer& best = []() -> const Tracer& {
    if (const char* wish = std::getenv("LOCI_ISA"); wish != nullptr && *wish != '\0') {
      // The kernels know levels above AVX-512 that have nothing to offer here.
      const std::string_view name = wish;
      const bool above = name == "avx512_bf16" || name == "amx";
      const Tracer* tracer = find_tracer(above ? "avx512" : name);
      if (tracer == nullptr)
        fail_machine("LOCI_ISA asks for {}, which this processor lacks; unset it", wish);
      return *tracer;
    }
    for (const char* name : {"avx512", "avx2"}) {
      if (const Tracer* tracer = find_tracer(name)) return *tracer;
    }
    return kPlainTracer;
  }();
  return best;
}

}  // namespace loci::world
