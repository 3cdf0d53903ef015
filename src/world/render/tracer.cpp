// SPDX-License-Identifier: Apache-2.0
#include "loci/world/render/tracer.h"

#include "loci/base/choice.h"
#include "loci/kernels/machine/cpu_features.h"
#include "loci/world/scene/patterns.h"

namespace loci::world {

extern const Tracer kPlainTracer;
#if defined(__x86_64__)
extern const Tracer kAvx2Tracer;
extern const Tracer kAvx512Tracer;
#endif

TracerScene::TracerScene(const SceneGeometry& from)
    : solids(from.solids.data()),
      planes(from.planes.data()),
      surfaces(from.surfaces.data()),
      materials(from.materials.data()),
      nodes(from.nodes.data()),
      light(from.light.data()),
      patterns(pattern_texels().data()),
      ground(from.ground.texels.data()),
      sky(from.sky.texels.data()),
      geometry(&from) {}

const Tracer* find_tracer(std::string_view name) {
  constexpr std::string_view kNames[] = {"plain", "avx2", "avx512"};
  if (choice_index("tracer", name, kNames) == 0) return &kPlainTracer;
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
#if defined(__x86_64__)
  const kernels::IsaLevel level = kernels::isa_level();  // of LOCI_ISA if it is set
  if (level >= kernels::IsaLevel::kAvx512) return kAvx512Tracer;
  if (level >= kernels::IsaLevel::kAvx2) return kAvx2Tracer;
#endif
  return kPlainTracer;
}

}  // namespace loci::world
