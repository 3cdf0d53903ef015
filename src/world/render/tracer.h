// SPDX-License-Identifier: Apache-2.0
// The packet tracer, compiled once per instruction set from tracer_kernel.h. Images do not depend
// on the instruction set: every lane performs the same IEEE operations in the same order.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "loci/world/scene/scene_geometry.h"

namespace loci::kernels {

enum class IsaLevel;

}  // namespace loci::kernels

namespace loci::world {

// Pointers into a SceneGeometry and the shared patterns, valid while the geometry is neither moved
// nor changed.
struct TracerScene {
  explicit TracerScene(const SceneGeometry& geometry);

  const Solid* solids;
  const Plane* planes;
  const Surface* surfaces;
  const Material* materials;
  const BvhNode* nodes;
  const uint32_t* light;
  const uint32_t* patterns;
  const uint32_t* ground;
  const uint32_t* sky;
  const SceneGeometry* geometry;
};

// A camera in scene axes. The ray through the centre of pixel (x, y) of a pinhole camera has the
// direction right * mx + up * my + forward with mx = (x + 0.5 - centre_x) / focal_x, and my
// likewise. xi > 0 bends rays by the unified camera model.
struct TracerCamera {
  Float3 origin, right, up, forward;
  float centre_x = 0, centre_y = 0;
  float inverse_focal_x = 1, inverse_focal_y = 1;
  float xi = 0;
  float pixel_angle = 0.01f;  // radians per pixel; selects the mip level of patterns
};

struct Target {
  int width = 0, height = 0;
  int samples = 2;         // per pixel, 1 to 8
  int edge_samples = 0;    // additional samples of pixels whose samples meet different surfaces
  uint8_t* rgb = nullptr;  // [height, width, 3]; null: depth only
  float* depth = nullptr;  // [height, width] metres along the ray, +inf for sky; may be null
};

// A batch of visibility tests: ray i starts at origin[i] and ends after reach[i].
struct VisibilityBatch {
  int count = 0;
  const float* origin_x;
  const float* origin_y;
  const float* origin_z;
  const float* direction_x;
  const float* direction_y;
  const float* direction_z;
  const float* reach;
  uint8_t* visible;  // 1 if nothing is in between
};

struct Tracer {
  std::string_view name;
  // Renders rows [first, last). `first` must be a multiple of kRowStep.
  void (*render)(const TracerScene& scene, const TracerCamera& camera, const Target& target,
                 int first, int last);
  // Tests against the solids; the ground plane does not block.
  void (*visibility)(const TracerScene& scene, const VisibilityBatch& batch);
};

constexpr int kRowStep = 4;

// The fastest tracer for this machine, or the tracer of the level in LOCI_ISA.
const Tracer& best_tracer();
// The tracers up to an instruction set, slowest first. All give the same images.
std::vector<const Tracer*> tracers_up_to(kernels::IsaLevel level);

}  // namespace loci::world
