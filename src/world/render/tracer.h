// SPDX-License-Identifier: Apache-2.0
// The packet tracer, compiled once per instruction set from tracer_kernel.h. Images do not depend
// on the instruction set: every lane does the same IEEE operations in the same order everywhere.
#pragma once

#include <cstdint>
#include <string_view>

#include "loci/world/scene/scene_geometry.h"

namespace loci::world {

// Pointers into a Scene and the shared patterns, valid while the scene is neither moved nor
// changed.
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

// A camera in scene axes. Pixel (x, y) at its centre looks along
// right * mx + up * my + forward with mx = (x + 0.5 - centre_x) / focal_x and so on (pinhole); xi >
// 0 bends rays as the unified camera model does.
struct TracerCamera {
  Float3 origin, right, up, forward;
  float centre_x = 0, centre_y = 0;
  float inverse_focal_x = 1, inverse_focal_y = 1;
  float xi = 0;
  float pixel_angle = 0.01f;  // radians a pixel, chooses the patterns' mip level
};

struct Target {
  int width = 0, height = 0;
  int samples = 2;         // a pixel, 1 to 8
  int edge_samples = 0;    // more of them where the first ones meet different surfaces
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
  uint8_t* visible;  // 1 when nothing is in between
};

struct Tracer {
  std::string_view name;
  // Renders rows [first, last); first is a multiple of kRowStep.
  void (*render)(const TracerScene& geometry, const TracerCamera& camera, const Target& target,
                 int first, int last);
  // The ground plane does not block.
  void (*visibility)(const TracerScene& geometry, const VisibilityBatch& batch);
};

constexpr int kRowStep = 4;

// The best tracer for this machine, or for the level that LOCI_ISA names.
const Tracer& best_tracer();
// Null when this machine or this build cannot run it; an unknown name is bad input.
const Tracer* find_tracer(std::string_view name);

}  // namespace loci::world
