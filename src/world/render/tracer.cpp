// SPDX-License-Identifier: Apache-2.0
#include "loci/world/render/tracer.h"

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

std::vector<const Tracer*> tracers_up_to([[maybe_unused]] kernels::IsaLevel level) {
  std::vector<const Tracer*> tracers = {&kPlainTracer};
#if defined(__x86_64__)
  if (level >= kernels::IsaLevel::kAvx2) tracers.push_back(&kAvx2Tracer);
  if (level >= kernels::IsaLevel::kAvx512) tracers.push_back(&kAvx512Tracer);
#endif
  return tracers;
}

const Tracer& best_tracer() { return *tracers_up_to(kernels::isa_level()).back(); }

}  // namespace loci::world
