// SPDX-License-Identifier: Apache-2.0
// Renders images and depth of a scene from a camera.
#pragma once

#include <ATen/core/Tensor.h>

#include "loci/camera/camera.h"
#include "loci/world/render/tracer.h"
#include "loci/world/scene/scene.h"

namespace loci::world {

struct RenderOptions {
  int width = 192;
  int height = 128;
  int samples = 2;  // per pixel
  // Additional samples of pixels whose samples meet different surfaces. At most 8 samples in total.
  int edge_samples = 2;
  int threads = 1;                 // the image does not depend on the number
  const Tracer* tracer = nullptr;  // null: the best of this machine
};

// Poses are camera-to-world with y down (camera/pose.h). The scene's ground is at y = 0.
TracerCamera tracer_camera(const camera::Camera& camera, int width, int height);

// rgb: uint8 [height, width, 3]. depth: float [height, width], metres along the ray through the
// pixel's centre, +inf for sky. Either may be null. The scene must not change during the call.
void render(const Scene& scene, const camera::Camera& camera, const RenderOptions& options,
            uint8_t* rgb, float* depth = nullptr);

struct RenderedFrame {
  at::Tensor rgb;    // uint8 [height, width, 3]
  at::Tensor depth;  // float [height, width]
};
RenderedFrame render(const Scene& scene, const camera::Camera& camera,
                     const RenderOptions& options = {});

}  // namespace loci::world
