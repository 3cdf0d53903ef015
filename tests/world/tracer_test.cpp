// SPDX-License-Identifier: Apache-2.0
// Compares the packet tracer with a plain tracer in double precision, and its images between
// instruction sets, numbers of threads and sizes.
#include "loci/world/render/tracer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "loci/kernels/machine/cpu_features.h"
#include "loci/world/path/path.h"
#include "loci/world/path/trajectory_simulator.h"
#include "loci/world/render/renderer.h"

namespace loci::world {
namespace {

struct Vec {
  double x, y, z;
};

// The distance at which a ray from outside enters a solid, by independent formulas; infinity if it
// does not.
double enter(const SceneGeometry& geometry, const Solid& s, const Vec& o, const Vec& d) {
  const double inf = std::numeric_limits<double>::infinity();
  const double c = s.cosine, n = s.sine;
  const auto turned = [&](double x, double y, double z) {
    return Vec{x * c - z * n, y, x * n + z * c};
  };
  const Vec p = turned(o.x - s.centre.x, o.y - s.centre.y, o.z - s.centre.z),
            v = turned(d.x, d.y, d.z);
  std::vector<double> candidates;
  const auto inside_box = [&](double t) {
    const double eps = 1e-9;
    return std::abs(p.x + t * v.x) <= s.size.x + eps && std::abs(p.y + t * v.y) <= s.size.y + eps &&
           std::abs(p.z + t * v.z) <= s.size.z + eps;
  };
  switch (s.shape) {
    case Shape::kBox:
      for (const double side : {-1.0, 1.0}) {
        for (const double t : {(side * s.size.x - p.x) / v.x, (side * s.size.y - p.y) / v.y,
                               (side * s.size.z - p.z) / v.z}) {
          if (t > 1e-3 && inside_box(t)) candidates.push_back(t);
        }
      }
      break;
    case Shape::kFrustum: {
      const double slope = (double(s.size.z) - s.size.x) / s.size.y;
      const Vec q{o.x - s.centre.x, o.y - s.centre.y, o.z - s.centre.z};
      const double r = s.size.x + slope * q.y, k = slope * d.y;
      const double a = d.x * d.x + d.z * d.z - k * k, b = q.x * d.x + q.z * d.z - r * k,
                   e = q.x * q.x + q.z * q.z - r * r;
      const double root = b * b - a * e;
      if (root >= 0) {
        for (const double sign : {-1.0, 1.0}) {
          const double t = (-b + sign * std::sqrt(root)) / a, y = q.y + t * d.y;
          if (t > 1e-3 && y >= 0 && y <= s.size.y) candidates.push_back(t);
        }
      }
      for (const double y : {0.0, double(s.size.y)}) {
        const double t = (y - q.y) / d.y, radius = y == 0 ? s.size.x : s.size.z;
        if (t > 1e-3 && std::hypot(q.x + t * d.x, q.z + t * d.z) <= radius) candidates.push_back(t);
      }
      break;
    }
    case Shape::kEllipsoid: {
      const Vec q{p.x / s.size.x, p.y / s.size.y, p.z / s.size.z},
          w{v.x / s.size.x, v.y / s.size.y, v.z / s.size.z};
      const double a = w.x * w.x + w.y * w.y + w.z * w.z, b = q.x * w.x + q.y * w.y + q.z * w.z;
      const double root = b * b - a * (q.x * q.x + q.y * q.y + q.z * q.z - 1);
      if (root >= 0 && (-b - std::sqrt(root)) / a > 1e-3)
        candidates.push_back((-b - std::sqrt(root)) / a);
      break;
    }
    case Shape::kHull:
      for (int i = 0; i < s.planes; ++i) {
        const Plane& plane = geometry.planes[static_cast<size_t>(s.first_plane + i)];
        const double along = plane.normal.x * d.x + plane.normal.y * d.y + plane.normal.z * d.z;
        const double t =
            (plane.offset - plane.normal.x * o.x - plane.normal.y * o.y - plane.normal.z * o.z) /
            along;
        bool inside = t > 1e-3;
        for (int k = 0; k < s.planes && inside; ++k) {
          const Plane& other = geometry.planes[static_cast<size_t>(s.first_plane + k)];
          inside = other.normal.x * (o.x + t * d.x) + other.normal.y * (o.y + t * d.y) +
                       other.normal.z * (o.z + t * d.z) <=
                   other.offset + 1e-5;
        }
        if (inside) candidates.push_back(t);
      }
      break;
  }
  return candidates.empty() ? inf : *std::min_element(candidates.begin(), candidates.end());
}

uint64_t hash_of(const at::Tensor& tensor) {
  uint64_t hash = 1469598103934665603u;
  const auto* bytes = static_cast<const uint8_t*>(tensor.const_data_ptr());
  for (size_t i = 0; i < tensor.nbytes(); ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
  return hash;
}

camera::Pose view_of(const Scene& scene, size_t which) {
  const Place& place = scene.viewpoints[which % scene.viewpoints.size()];
  return pose_at({place.x, place.z}, 1.6, place.rotation, 4);
}

camera::Lens lens(double degrees, double xi = 0) {
  camera::Lens result;
  result.fov_x = degrees * kPi / 180;
  result.xi = xi;
  return result;
}

const std::vector<Scene>& scenes() {
  static const std::vector<Scene> all = [] {
    std::vector<Scene> list;
    for (const Style style : kTrainingStyles)
      list.push_back(make_scene(40 + list.size(), {.style = style}));
    list.push_back(make_scene(40 + list.size(), {.style = Style::kPlaza}));
    return list;
  }();
  return all;
}

TEST(Tracer, DepthAgreesWithAPlainTracer) {
  RenderOptions options;
  options.width = 48;
  options.height = 32;
  for (const Scene& scene : scenes()) {
    const camera::Pose pose = view_of(scene, 3);
    const at::Tensor depth = render(scene, {pose, lens(80)}, options).depth;
    const double focal = 24 / std::tan(40 * kPi / 180);
    int wrong = 0;
    for (int y = 0; y < 32; ++y) {
      for (int x = 0; x < 48; ++x) {
        const camera::Vec3 ray =
            pose.rotation * camera::normalise({(x + 0.5 - 24) / focal, (y + 0.5 - 16) / focal, 1});
        const Vec o{pose.position.x, -pose.position.y, pose.position.z}, d{ray.x, -ray.y, ray.z};
        double nearest = d.y < 0 ? -o.y / d.y : std::numeric_limits<double>::infinity();
        for (const Solid& solid : scene.geometry.solids)
          nearest = std::min(nearest, enter(scene.geometry, solid, o, d));
        const double found = depth[y][x].item<float>();
        // Within rounding of a silhouette, a ray may pass on either side.
        const bool same =
            std::isinf(nearest) ? std::isinf(found) : std::abs(found - nearest) < 2e-3 * nearest;
        wrong += same ? 0 : 1;
      }
    }
    EXPECT_LE(wrong, 1) << name_of(scene.style);
  }
}

TEST(Tracer, ImagesDoNotDependOnInstructionSetThreadsOrNeighbours) {
  const std::vector<const Tracer*> tracers = tracers_up_to(kernels::cpu_features().best_level());
  for (const Scene& scene : scenes()) {
    const camera::Pose pose = view_of(scene, 5);
    for (const double xi : {0.0, 0.8}) {
      RenderOptions options;
      options.width = 77;  // not a multiple of a packet's width
      options.height = 53;
      options.tracer = tracers.front();
      const RenderedFrame first = render(scene, {pose, lens(xi > 0 ? 160 : 75, xi)}, options);
      for (const Tracer* tracer : tracers) {
        options.tracer = tracer;
        options.threads = 3;
        const RenderedFrame again = render(scene, {pose, lens(xi > 0 ? 160 : 75, xi)}, options);
        EXPECT_TRUE(at::equal(first.rgb, again.rgb)) << tracer->name << " " << name_of(scene.style);
        EXPECT_TRUE(at::equal(first.depth, again.depth))
            << tracer->name << " " << name_of(scene.style);
      }
    }
  }
}

// A change of the images changes these numbers and every dataset that is made from a seed.
TEST(Tracer, ImagesHaveKnownBits) {
  const uint64_t known[] = {0xeb49609bc10aea2d, 0x0b4a187292629344, 0x2f04f618576318de,
                            0x14d1085287171ebf, 0x2c91290a264f805a, 0x58d92bb4c82d169b};
  for (size_t i = 0; i < scenes().size(); ++i) {
    const uint64_t hash = hash_of(render(scenes()[i], {view_of(scenes()[i], 1), lens(75)}).rgb);
    EXPECT_EQ(hash, known[i]) << name_of(scenes()[i].style) << fmt::format(" {:#018x}", hash);
  }
}

TEST(Tracer, DepthIsTheSameWithoutAnImage) {
  RenderOptions options;
  options.width = 45;
  options.height = 31;
  const at::Tensor both = render(scenes()[0], {view_of(scenes()[0], 4), lens(75)}, options).depth;
  at::Tensor alone = at::zeros_like(both);
  render(scenes()[0], {view_of(scenes()[0], 4), lens(75)}, options, nullptr,
         alone.data_ptr<float>());
  EXPECT_TRUE(at::equal(alone, both));
}

TEST(Tracer, AveragesSamplesAtEdges) {
  const Scene& scene = scenes()[0];
  RenderOptions coarse;
  coarse.samples = 1;
  coarse.edge_samples = 0;
  RenderOptions fine = coarse;
  fine.samples = 8;
  RenderOptions usual;
  const at::Tensor one = render(scene, {view_of(scene, 2), lens(75)}, coarse).rgb.to(at::kFloat);
  const at::Tensor best = render(scene, {view_of(scene, 2), lens(75)}, fine).rgb.to(at::kFloat);
  const at::Tensor normal = render(scene, {view_of(scene, 2), lens(75)}, usual).rgb.to(at::kFloat);
  const double error_one = (one - best).square().mean().item<double>();
  const double error_normal = (normal - best).square().mean().item<double>();
  EXPECT_LT(error_normal, 0.35 * error_one);
}

TEST(Tracer, FisheyeAndPinholeAgreeAtTheCentre) {
  const Scene& scene = scenes()[2];
  RenderOptions options;
  options.width = 65;
  options.height = 65;
  const float straight =
      render(scene, {view_of(scene, 0), lens(75)}, options).depth[32][32].item<float>();
  const float wide =
      render(scene, {view_of(scene, 0), lens(200, 0.9)}, options).depth[32][32].item<float>();
  EXPECT_NEAR(straight, wide, 1e-3 * straight);
}

// A point seen from one pose appears at the projected place in the image of another pose, with the
// same colour.
TEST(Tracer, DepthReprojectsBetweenFrames) {
  RenderOptions options;
  const double focal = 96 / std::tan(37.5 * kPi / 180);
  for (const Scene& scene : scenes()) {
    const Place& place = scene.viewpoints[2];
    const camera::Pose a = pose_at({place.x, place.z}, 1.6, place.rotation, 0);
    const camera::Pose b = pose_at({place.x + 0.25, place.z - 0.15}, 1.6, place.rotation + 8, 2);
    const RenderedFrame from = render(scene, {a, lens(75)}, options),
                        to = render(scene, {b, lens(75)}, options);
    const auto depth_a = from.depth.accessor<float, 2>();
    const auto depth_b = to.depth.accessor<float, 2>();
    const auto rgb_a = from.rgb.accessor<uint8_t, 3>();
    const auto rgb_b = to.rgb.accessor<uint8_t, 3>();
    int seen = 0, agree = 0, hidden = 0;
    std::vector<int> differences;
    for (int y = 0; y < options.height; y += 2) {
      for (int x = 0; x < options.width; x += 2) {
        if (!std::isfinite(depth_a[y][x]) || depth_a[y][x] > 60) continue;
        const camera::Vec3 ray =
            camera::normalise({(x + 0.5 - 96) / focal, (y + 0.5 - 64) / focal, 1});
        const camera::Vec3 point = a.rotation * (ray * depth_a[y][x]) + a.position;
        const camera::Vec3 local = b.inverse().rotation * (point - b.position);
        if (local.z < 0.1) continue;
        const int u = static_cast<int>(std::floor(focal * local.x / local.z + 96)),
                  v = static_cast<int>(std::floor(focal * local.y / local.z + 64));
        if (u < 1 || v < 1 || u >= options.width - 1 || v >= options.height - 1) continue;
        ++seen;
        const double distance = camera::norm(local);
        // The pixel's centre may be half a pixel away, so the nearest depth around it is used.
        double best = 1e9;
        for (int j = v - 1; j <= v + 1; ++j) {
          for (int i = u - 1; i <= u + 1; ++i)
            best = std::min(best, std::abs(depth_b[j][i] - distance) / distance);
        }
        if (best > 0.03) {
          hidden += depth_b[v][u] < distance ? 1 : 0;  // occluded
          continue;
        }
        ++agree;
        for (int channel = 0; channel < 3; ++channel)
          differences.push_back(std::abs(rgb_a[y][x][channel] - rgb_b[v][u][channel]));
      }
    }
    ASSERT_GT(seen, 1000) << name_of(scene.style);
    EXPECT_LT(hidden, 0.25 * seen) << name_of(scene.style);
    EXPECT_GT(agree, 0.985 * (seen - hidden)) << name_of(scene.style);
    std::nth_element(differences.begin(),
                     differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2),
                     differences.end());
    EXPECT_LE(differences[differences.size() / 2], 5) << name_of(scene.style);
  }
}

}  // namespace
}  // namespace loci::world
