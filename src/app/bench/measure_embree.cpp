// SPDX-License-Identifier: Apache-2.0
// The same scenes in Embree: packets of eight rays, marked as coherent. Their creation is not
// measured, whereas the time of loci includes the creation of its rays.
#include <cstring>
#include <memory>

#include <embree3/rtcore.h>

#include "loci/app/bench/measure_render.h"
#include "loci/app/bench/triangles.h"
#include "loci/base/error.h"
#include "loci/world/render/renderer.h"

namespace loci::app {

namespace {

constexpr int kPacketWidth = 4, kPacketHeight = 2;

struct Deleter {
  void operator()(RTCDevice device) const { rtcReleaseDevice(device); }
  void operator()(RTCScene scene) const { rtcReleaseScene(scene); }
};
using Device = std::unique_ptr<std::remove_pointer_t<RTCDevice>, Deleter>;
using EmbreeScene = std::unique_ptr<std::remove_pointer_t<RTCScene>, Deleter>;

EmbreeScene build(RTCDevice device, const Triangles& triangles) {
  EmbreeScene scene(rtcNewScene(device));
  rtcSetSceneBuildQuality(scene.get(), RTC_BUILD_QUALITY_HIGH);
  const RTCGeometry geometry = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_TRIANGLE);
  const auto fill = [&](RTCBufferType type, RTCFormat format, const auto& items) {
    const size_t size = sizeof(items[0]);
    std::memcpy(rtcSetNewGeometryBuffer(geometry, type, 0, format, size, items.size()),
                items.data(), size * items.size());
  };
  fill(RTC_BUFFER_TYPE_VERTEX, RTC_FORMAT_FLOAT3, triangles.points);
  fill(RTC_BUFFER_TYPE_INDEX, RTC_FORMAT_UINT3, triangles.faces);
  rtcCommitGeometry(geometry);
  rtcAttachGeometry(scene.get(), geometry);
  rtcReleaseGeometry(geometry);
  rtcCommitScene(scene.get());
  return scene;
}

// Rays through the centres of all pixels of a pinhole camera.
std::vector<RTCRayHit8> packets(const world::TracerCamera& camera, int width, int height) {
  std::vector<RTCRayHit8> list;
  for (int y = 0; y < height; y += kPacketHeight) {
    for (int x = 0; x < width; x += kPacketWidth) {
      RTCRayHit8 packet{};
      for (int i = 0; i < 8; ++i) {
        const float px = static_cast<float>(x + i % kPacketWidth) + 0.5f;
        const float py = static_cast<float>(y + i / kPacketWidth) + 0.5f;
        const float mx = (px - camera.centre_x) * camera.inverse_focal_x;
        const float my = (camera.centre_y - py) * camera.inverse_focal_y;
        const world::Float3 d = normalise(camera.right * mx + camera.up * my + camera.forward);
        packet.ray.org_x[i] = camera.origin.x;
        packet.ray.org_y[i] = camera.origin.y;
        packet.ray.org_z[i] = camera.origin.z;
        packet.ray.dir_x[i] = d.x;
        packet.ray.dir_y[i] = d.y;
        packet.ray.dir_z[i] = d.z;
        packet.ray.mask[i] = ~0u;
      }
      list.push_back(packet);
    }
  }
  return list;
}

void trace(RTCScene scene, std::vector<RTCRayHit8>& list) {
  alignas(32) static constexpr int kAll[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
  RTCIntersectContext context;
  rtcInitIntersectContext(&context);
  context.flags = RTC_INTERSECT_CONTEXT_FLAG_COHERENT;
  for (RTCRayHit8& packet : list) {
    for (int i = 0; i < 8; ++i) {
      packet.ray.tfar[i] = std::numeric_limits<float>::infinity();
      packet.hit.geomID[i] = RTC_INVALID_GEOMETRY_ID;
    }
    rtcIntersect8(kAll, scene, &context, &packet);
  }
}

double agreement(const std::vector<RTCRayHit8>& list, const std::vector<float>& depth, int width) {
  int64_t same = 0;
  for (size_t p = 0; p < list.size(); ++p) {
    const int columns = width / kPacketWidth;
    const int x = static_cast<int>(p) % columns * kPacketWidth,
              y = static_cast<int>(p) / columns * kPacketHeight;
    for (int i = 0; i < 8; ++i) {
      const float a = list[p].ray.tfar[i];
      const float b = depth[static_cast<size_t>(y + i / kPacketWidth) * static_cast<size_t>(width) +
                            static_cast<size_t>(x + i % kPacketWidth)];
      const bool sky_a = list[p].hit.geomID[i] == RTC_INVALID_GEOMETRY_ID, sky_b = std::isinf(b);
      same += sky_a || sky_b ? (sky_a == sky_b ? 1 : 0) : (std::abs(a - b) < 0.02f * b ? 1 : 0);
    }
  }
  return static_cast<double>(same) / static_cast<double>(8 * list.size());
}

}  // namespace

std::vector<RayComparison> compare_with_embree(const world::ClipOptions& options, double seconds) {
  if (options.width % kPacketWidth != 0 || options.height % kPacketHeight != 0 || options.xi != 0) {
    fail(
        "the comparison with Embree needs a pinhole camera and sides that are multiples of {} and "
        "{}",
        kPacketWidth, kPacketHeight);
  }
  const Device device(rtcNewDevice("threads=1"));
  if (!device)
    fail_machine("cannot create an Embree device (error {})", rtcGetDeviceError(nullptr));
  constexpr size_t kViews = 64;
  const auto rays = static_cast<double>(options.width) * options.height;
  const camera::Lens lens = world::lens_of(options);
  world::RenderOptions one = world::render_options(options);
  one.threads = 1;
  std::vector<RayComparison> results;
  for (const world::Style style : world::kTrainingStyles) {
    const BenchScene bench = bench_scene(style, options);
    const Triangles triangles = triangulate(bench.scene.geometry);
    const EmbreeScene scene = build(device.get(), triangles);
    const auto pose = [&](size_t view) -> const camera::Pose& {
      return bench.poses[view * bench.poses.size() / kViews];
    };
    std::vector<std::vector<RTCRayHit8>> views;
    for (size_t i = 0; i < kViews; ++i) {
      views.push_back(packets(world::tracer_camera(pose(i), lens, options.width, options.height),
                              options.width, options.height));
    }
    std::vector<float> depth(static_cast<size_t>(rays));
    const auto ours = [&](size_t view) {
      world::render(bench.scene, {pose(view), lens}, one, nullptr, depth.data());
    };
    const auto theirs = [&](size_t view) { trace(scene.get(), views[view]); };
    RayComparison row;
    row.style = world::name_of(style);
    row.solids = bench.scene.geometry.solids.size();
    row.triangles = triangles.faces.size();
    for (size_t i = 0; i < kViews; i += 8) {
      ours(i);
      theirs(i);
      row.agreement += agreement(views[i], depth, options.width) / (kViews / 8);
    }
    const auto rate = [&](const Timing& timing) {
      return rays * static_cast<double>(timing.frames) / timing.cpu_seconds * 1e-6;
    };
    row.ours = rate(time_views(kViews, seconds, ours));
    row.embree = rate(time_views(kViews, seconds, theirs));
    results.push_back(row);
  }
  return results;
}

}  // namespace loci::app
