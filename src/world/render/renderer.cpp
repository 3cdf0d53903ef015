// SPDX-License-Identifier: Apache-2.0
#include "loci/world/render/renderer.h"

#include <atomic>
#include <thread>

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::world {

namespace {

// From y down to the scene's axes with y up.
Float3 to_scene(const camera::Vec3& v) {
  return {static_cast<float>(v.x), static_cast<float>(-v.y), static_cast<float>(v.z)};
}

}  // namespace

TracerCamera tracer_camera(const camera::Camera& camera, int width, int height) {
  const auto& [pose, lens] = camera;
  TracerCamera made;
  made.origin = to_scene(pose.position);
  made.right = to_scene(pose.right());
  made.up = to_scene(-pose.down());
  made.forward = to_scene(pose.forward());
  made.xi = static_cast<float>(lens.xi);
  double focal_x, focal_y;
  if (lens.normalised && lens.xi == 0) {
    const auto& [fx, fy, cx, cy] = *lens.normalised;
    focal_x = fx * width;
    focal_y = fy * height;
    made.centre_x = static_cast<float>(cx * width);
    made.centre_y = static_cast<float>(cy * height);
  } else {
    const double half = 0.5 * lens.fov_x;
    focal_x = focal_y = 0.5 * width * (exact_cos(half) + lens.xi) / exact_sin(half);
    made.centre_x = 0.5f * static_cast<float>(width);
    made.centre_y = 0.5f * static_cast<float>(height);
  }
  made.inverse_focal_x = static_cast<float>(1 / focal_x);
  made.inverse_focal_y = static_cast<float>(1 / focal_y);
  made.pixel_angle = static_cast<float>((1 + lens.xi) / focal_x);
  return made;
}

void render(const Scene& scene, const camera::Camera& camera, const RenderOptions& options,
            uint8_t* rgb, float* depth) {
  LOCI_CHECK(options.width > 0 && options.height > 0, "an image of {}x{} pixels", options.width,
             options.height);
  LOCI_CHECK(options.samples >= 1 && options.edge_samples >= 0 &&
                 options.samples + options.edge_samples <= 8,
             "{} and {} samples per pixel; expected 1 to 8 in total", options.samples,
             options.edge_samples);
  const Tracer& tracer = options.tracer != nullptr ? *options.tracer : best_tracer();
  const TracerScene traced(scene.geometry);
  const TracerCamera from = tracer_camera(camera, options.width, options.height);
  const Target target{options.width, options.height, options.samples, options.edge_samples,
                      rgb,           depth};
  const int bands = (options.height + kRowStep - 1) / kRowStep;
  const int threads = std::min(options.threads, bands);
  if (threads <= 1) {
    tracer.render(traced, from, target, 0, options.height);
    return;
  }
  // Threads take bands of rows one by one, because sky is cheaper than trees.
  std::atomic<int> next{0};
  const auto work = [&] {
    for (int band = next++; band < bands; band = next++) {
      tracer.render(traced, from, target, band * kRowStep,
                    std::min((band + 1) * kRowStep, options.height));
    }
  };
  std::vector<std::jthread> helpers;
  for (int i = 1; i < threads; ++i) helpers.emplace_back(work);
  work();
}

RenderedFrame render(const Scene& scene, const camera::Camera& camera,
                     const RenderOptions& options) {
  RenderedFrame frame{at::empty({options.height, options.width, 3}, at::kByte),
                      at::empty({options.height, options.width}, at::kFloat)};
  render(scene, camera, options, frame.rgb.data_ptr<uint8_t>(), frame.depth.data_ptr<float>());
  return frame;
}

}  // namespace loci::world
