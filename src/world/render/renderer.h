// SPDX-License-Identifier: Apache-2.0
// Pictures and depth of a world from a pose.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/camera/camera.h"
#include "loci/world/render/tracer.h"
#include "loci/world/scene/scene.h"

namespace loci::world {

struct RenderOptions {
  int width = 192;
  int height = 128;
  int samples = 2;  // a pixel
  int edge_samples =
      2;            // more of them where the first ones meet different surfaces; 8 in all at most
  int threads = 1;  // the image does not depend on it
  const Tracer* tracer = nullptr;  // null: the best of this machine
};

// Poses are camera to world with y down (camera/pose.h); the world's ground lies at y = 0.
TracerCamera tracer_camera(const camera::Camera& camera, int width, int height);

// rgb: uint8 [height, width, 3]. depth: float [height, width], metres along the ray through the
// pixel's centre, +inf for sky. Either may be null. The world must not change meanwhile.
void render(const Scene& scene, const camera::Camera& camera, const RenderOptions& options,
            uint8_t* rgb, float* depth = nullptr);

struct RenderedFrame {
  at::Tensor rgb;    // uint8 [height, width, 3]
  at::Tensor depth;  // float [height, width]
};
RenderedFrame render(const Scene& scene, const camera::Camera& camera,
                     const RenderOptions& options = {});

}  // namespace loci::world
