// SPDX-License-Identifier: Apache-2.0
// Loops over pixels and visibility batches. One tracer_<isa>.cpp per instruction set includes this
// file and defines its Tracer.
#pragma once

#include <limits>

#include "loci/world/render/shade.h"

namespace loci::world {
namespace {

// A packet is a block of pixels of at most four rows, so that its rays are close together.
constexpr int kBlockWidth = kLanes == 4 ? 2 : 4;
constexpr int kBlockHeight = kLanes / kBlockWidth;
static_assert(kRowStep % kBlockHeight == 0);

// Positions of samples in a pixel: the first n of a low-discrepancy set, centred.
constexpr int kMaxSamples = 8;
constexpr float kSampleX[kMaxSamples] = {0.25f, 0.75f, 0.5f, 0.0f, 0.125f, 0.625f, 0.375f, 0.875f};
constexpr float kSampleY[kMaxSamples] = {0.25f, 0.75f, 0.0f, 0.5f, 0.625f, 0.125f, 0.875f, 0.375f};

inline Rays camera_rays(const TracerCamera& camera, Floats x, Floats y) {
  const Floats mx = (x - camera.centre_x) * camera.inverse_focal_x;
  const Floats my = (camera.centre_y - y) * camera.inverse_focal_y;
  const Floats square = mx * mx + my * my;
  const Floats inside = max(1.0f + (1.0f - camera.xi * camera.xi) * square, splat(0.0f));
  const Floats a = (camera.xi + sqrt(inside)) / (square + 1.0f);
  const Floats cx = a * mx, cy = a * my, cz = a - camera.xi;
  const Floats scale = 1.0f / sqrt(cx * cx + cy * cy + cz * cz);
  const Floats lx = cx * scale, ly = cy * scale, lz = cz * scale;
  const Float3 &right = camera.right, &up = camera.up, &forward = camera.forward;
  return make_rays(splat(camera.origin.x), splat(camera.origin.y), splat(camera.origin.z),
                   lx * right.x + ly * up.x + lz * forward.x,
                   lx * right.y + ly * up.y + lz * forward.y,
                   lx * right.z + ly * up.z + lz * forward.z);
}

// Linear light to a displayed byte: tone mapping with a soft shoulder, then gamma 2.
inline Ints to_byte(Floats c) {
  const Floats toned = c * (1.0f + 0.12f * c) / (1.0f + 0.42f * c);
  return to_int(min(sqrt(max(toned, splat(0.0f))) * 255.0f + 0.5f, splat(255.0f)));
}

// A packet of pixels whose first pixel is (x, y). Blocks that extend beyond the image repeat its
// last column and row and store only the pixels inside.
struct Block {
  int x, y;
  Floats px, py;

  Block(int left, int top, const Target& target) : x(left), y(top) {
    Floats lane_x, lane_y;
    for (int i = 0; i < kLanes; ++i) {
      lane_x[i] = static_cast<float>(i % kBlockWidth);
      lane_y[i] = static_cast<float>(i / kBlockWidth);
    }
    px = min(lane_x + static_cast<float>(x), splat(static_cast<float>(target.width - 1)));
    py = min(lane_y + static_cast<float>(y), splat(static_cast<float>(target.height - 1)));
  }

  // Calls store(lane, pixel) for the pixels inside the image and above row `last`.
  template <typename Store>
  void for_pixels(const Target& target, int last, const Store& store) const {
    for (int i = 0; i < kLanes; ++i) {
      const int column = x + i % kBlockWidth, row = y + i / kBlockWidth;
      if (column >= target.width || row >= last) continue;
      store(i, static_cast<int64_t>(row) * target.width + column);
    }
  }
};

// Depth at the pixels' centres. A mean over an edge would be on no surface.
void store_depth(const TracerScene& scene, const TracerCamera& camera, const Target& target,
                 const Block& block, int last) {
  const Floats depth =
      trace(scene, camera_rays(camera, block.px + 0.5f, block.py + 0.5f), splat(-1)).t;
  block.for_pixels(target, last, [&](int lane, int64_t pixel) {
    target.depth[pixel] = depth[lane] < kFar ? depth[lane] : std::numeric_limits<float>::infinity();
  });
}

void render(const TracerScene& scene, const TracerCamera& camera, const Target& target, int first,
            int last) {
  const int samples = target.samples;
  const float weight = 1.0f / static_cast<float>(samples);
  const float edge_weight = 1.0f / static_cast<float>(samples + target.edge_samples);
  for (int y = first; y < last; y += kBlockHeight) {
    for (int x = 0; x < target.width; x += kBlockWidth) {
      const Block block(x, y, target);
      if (target.depth != nullptr) store_depth(scene, camera, target, block, last);
      if (target.rgb == nullptr) continue;
      const Ints active = splat(-1);
      const auto rays_of = [&](int sample) {
        const float sx = samples == 1 ? 0.5f : kSampleX[sample],
                    sy = samples == 1 ? 0.5f : kSampleY[sample];
        return camera_rays(camera, block.px + sx, block.py + sy);
      };
      Rays rays[kMaxSamples];
      Hits hits[kMaxSamples];
      Ints edge = splat(0);
      rays[0] = rays_of(0);
      hits[0] = trace(scene, rays[0], active);
      for (int s = 1; s < samples; ++s) {
        rays[s] = rays_of(s);
        hits[s] = trace(scene, rays[s], active);
        edge |= hits[s].surface != hits[0].surface;
      }
      Colours sum = splat(Float3{});
      if (!all(edge)) {
        // If all samples meet one surface, its colour at their centre is enough, because patterns
        // are filtered to the size of a pixel.
        Rays middle = rays[0];
        Floats t = hits[0].t;
        for (int s = 1; s < samples; ++s) {
          middle.dx += rays[s].dx;
          middle.dy += rays[s].dy;
          middle.dz += rays[s].dz;
          t += hits[s].t;
        }
        const Floats scale =
            1.0f / sqrt(middle.dx * middle.dx + middle.dy * middle.dy + middle.dz * middle.dz);
        middle = make_rays(middle.ox, middle.oy, middle.oz, middle.dx * scale, middle.dy * scale,
                           middle.dz * scale);
        sum =
            radiance(scene, middle, {t * weight, hits[0].surface}, ~edge, camera.pixel_angle, true);
      }
      if (any(edge)) {
        Colours mixed = splat(Float3{});
        for (int s = 0; s < samples + target.edge_samples; ++s) {
          const Rays r = s < samples ? rays[s] : rays_of(s);
          const Hits h = s < samples ? hits[s] : trace(scene, r, edge);
          const Colours c = radiance(scene, r, h, edge, camera.pixel_angle, true);
          mixed = {mixed.r + c.r * edge_weight, mixed.g + c.g * edge_weight,
                   mixed.b + c.b * edge_weight};
        }
        sum = select(edge, mixed, sum);
      }
      const Ints red = to_byte(sum.r), green = to_byte(sum.g), blue = to_byte(sum.b);
      block.for_pixels(target, last, [&](int lane, int64_t pixel) {
        uint8_t* out = target.rgb + 3 * pixel;
        out[0] = static_cast<uint8_t>(red[lane]);
        out[1] = static_cast<uint8_t>(green[lane]);
        out[2] = static_cast<uint8_t>(blue[lane]);
      });
    }
  }
}

inline Floats load(const float* from, int count) {
  Floats value = splat(from[0]);
  for (int i = 0; i < kLanes && i < count; ++i) value[i] = from[i];
  return value;
}

void visibility(const TracerScene& scene, const VisibilityBatch& batch) {
  for (int i = 0; i < batch.count; i += kLanes) {
    const int count = batch.count - i;
    const Rays rays =
        make_rays(load(batch.origin_x + i, count), load(batch.origin_y + i, count),
                  load(batch.origin_z + i, count), load(batch.direction_x + i, count),
                  load(batch.direction_y + i, count), load(batch.direction_z + i, count));
    const uint32_t hit = bits(blocked(scene, rays, load(batch.reach + i, count)));
    for (int k = 0; k < kLanes && k < count; ++k) batch.visible[i + k] = hit >> k & 1 ? 0 : 1;
  }
}

}  // namespace
}  // namespace loci::world
