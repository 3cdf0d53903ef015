// SPDX-License-Identifier: Apache-2.0
#include "loci/world/path/picture_survey.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "loci/camera/path/resample.h"
#include "loci/world/render/renderer.h"

namespace loci::world {

namespace {

// Depths of one surface agree within this share of the distance plus a constant in metres.
constexpr double kShare = 0.03, kConstant = 0.08;
constexpr int kPixelStep = 4;  // every fourth pixel in both directions is measured
constexpr double kFarAway = 1e5;

// A pixel of a picture and what it shows.
struct Sighting {
  int x = 0, y = 0;
  camera::Vec3 point;   // a point far away if it is sky
  double distance = 0;  // from the camera, metres; infinite for sky
};

// Where a camera shows a point.
struct Projection {
  double x = 0, y = 0;  // pixels
  double distance = 0;  // from the camera, metres
};

class DepthView {
 public:
  DepthView(const Scene& scene, const camera::Pose& pose, const PictureFormat& format)
      : pose_(pose),
        width_(format.width),
        height_(format.height),
        focal_(0.5 * format.width / std::tan(0.5 * format.lens.fov_x)),
        depth_(static_cast<size_t>(format.width) * static_cast<size_t>(format.height)) {
    RenderOptions options;
    options.width = width_;
    options.height = height_;
    render(scene, {pose, format.lens}, options, nullptr, depth_.data());
  }

  std::vector<Sighting> sightings() const {
    std::vector<Sighting> all;
    for (int y = kPixelStep / 2; y < height_; y += kPixelStep) {
      for (int x = kPixelStep / 2; x < width_; x += kPixelStep) {
        const camera::Vec3 ray =
            pose_.rotation * camera::normalise({(x + 0.5 - 0.5 * width_) / focal_,
                                                (y + 0.5 - 0.5 * height_) / focal_, 1});
        const double distance = depth(x, y);
        all.push_back({x, y, pose_.position + ray * std::min(distance, kFarAway), distance});
      }
    }
    return all;
  }

  // No value if the point is behind the camera.
  std::optional<Projection> project(const camera::Pose& pose, const camera::Vec3& point) const {
    const camera::Vec3 way = point - pose.position;
    const camera::Vec3 local = pose.rotation.transposed() * way;
    if (local.z <= 1e-3) return std::nullopt;
    return Projection{focal_ * local.x / local.z + 0.5 * width_,
                      focal_ * local.y / local.z + 0.5 * height_, camera::norm(way)};
  }

  // Whether this view shows what was sighted elsewhere; `distance` is then that from this camera.
  bool shows(const Sighting& sighting, double& distance) const {
    const auto at = project(pose_, sighting.point);
    if (!at || at->x < 0 || at->y < 0 || at->x >= width_ || at->y >= height_) return false;
    const double found = depth(static_cast<int>(at->x), static_cast<int>(at->y));
    distance = at->distance;
    if (std::isinf(sighting.distance) || std::isinf(found))
      return std::isinf(sighting.distance) && std::isinf(found);
    return std::abs(found - distance) < kShare * distance + kConstant;
  }

 private:
  double depth(int x, int y) const {
    return depth_[static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x)];
  }

  camera::Pose pose_;
  int width_, height_;
  double focal_;
  std::vector<float> depth_;
};

}  // namespace

std::vector<double> picture_motion(const Scene& scene, std::span<const camera::Pose> poses,
                                   const PictureFormat& format) {
  constexpr size_t kStep = camera::kFramesPerLatent;
  std::vector<double> medians;
  for (size_t i = 0; i + kStep < poses.size(); i += 2 * kStep) {
    const DepthView view(scene, poses[i], format);
    std::vector<double> moved;
    for (const Sighting& sighting : view.sightings()) {
      const auto at = view.project(poses[i + kStep], sighting.point);
      if (at) moved.push_back(std::hypot(at->x - sighting.x - 0.5, at->y - sighting.y - 0.5));
    }
    if (moved.empty()) continue;
    const auto middle = moved.begin() + static_cast<std::ptrdiff_t>(moved.size() / 2);
    std::nth_element(moved.begin(), middle, moved.end());
    medians.push_back(*middle);
  }
  return medians;
}

Coverage measure_coverage(const Scene& scene, std::span<const camera::Pose> earlier,
                          std::span<const camera::Pose> later, const PictureFormat& format) {
  std::vector<DepthView> before;
  for (const camera::Pose& pose : earlier) before.emplace_back(scene, pose, format);
  int64_t pixels = 0, shown = 0, sharp = 0;
  for (const camera::Pose& pose : later) {
    for (const Sighting& sighting : DepthView(scene, pose, format).sightings()) {
      bool any = false, near = false;
      for (size_t i = 0; i < before.size() && !near; ++i) {
        double distance = 0;
        if (!before[i].shows(sighting, distance)) continue;
        any = true;
        near = distance <= 2 * sighting.distance;  // always for sky
      }
      ++pixels;
      shown += any ? 1 : 0;
      sharp += near ? 1 : 0;
    }
  }
  const auto share = [&](int64_t count) {
    return pixels > 0 ? static_cast<double>(count) / static_cast<double>(pixels) : 0.0;
  };
  return {share(shown), share(sharp)};
}

}  // namespace loci::world
