// SPDX-License-Identifier: Apache-2.0
#include "loci/memory/patches/patch_memory.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <ATen/ATen.h>

#include "loci/base/error.h"

namespace loci::memory {

namespace {

constexpr double kLeastDepth = 0.01;         // of a latent in the query's camera
constexpr double kLeastStoredDepth = 0.001;  // of a latent that counts as coverage
constexpr int64_t kCoarse = 4;               // latents per cell of the coverage grid
constexpr int64_t kPoolStride = 2;           // of the frames whose coverage is compared
constexpr int64_t kPoolPerFrame = 4;         // frames with the nearest directions, per frame in use
constexpr double kApart = 0.1;               // least distance of frames chosen by pose

}  // namespace

struct PatchMemory::Landing {
  int64_t from_row, from_column, row, column;
  double stored_depth, depth;
};

std::vector<PatchMemory::Landing> PatchMemory::project(int64_t frame, const PixelCamera& query,
                                                       int64_t coarse) const {
  const PatchFrame& stored = frames_[static_cast<size_t>(frame)];
  const int64_t height = stored.latent.size(1), width = stored.latent.size(2);
  const int64_t rows = height / coarse, columns = width / coarse;
  const auto step = static_cast<double>(options_.stride * coarse);
  const auto cell = static_cast<double>(options_.stride);
  const at::Tensor dense = stored.depth.to(at::kDouble).contiguous();
  LOCI_CHECK(dense.dim() == 2, "a depth map has {} dimensions, expected 2", dense.dim());
  const auto depth = dense.accessor<double, 2>();
  const auto [fx, fy, cx, cy] = stored.camera.pinhole;
  const auto [gx, gy, dx, dy] = query.pinhole;
  const camera::Mat3 to_query = query.pose.rotation.transposed();
  std::vector<Landing> landings;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const double z = depth[i * dense.size(0) / rows][j * dense.size(1) / columns];
      const double u = step * static_cast<double>(j), v = step * static_cast<double>(i);
      const camera::Vec3 point = {(u - cx) / fx * z, (v - cy) / fy * z, z};
      const camera::Vec3 world = stored.camera.pose.rotation * point + stored.camera.pose.position;
      const camera::Vec3 seen = to_query * (world - query.pose.position);
      if (!(seen.z > kLeastDepth)) continue;
      // Halves are rounded to even numbers.
      const double row = std::nearbyint((gy * seen.y / seen.z + dy) / cell);
      const double column = std::nearbyint((gx * seen.x / seen.z + dx) / cell);
      if (!(row >= 0 && row < static_cast<double>(height) && column >= 0 &&
            column < static_cast<double>(width))) {
        continue;
      }
      landings.push_back(
          {i, j, static_cast<int64_t>(row), static_cast<int64_t>(column), z, seen.z});
    }
  }
  return landings;
}

std::vector<int64_t> PatchMemory::choose(const PixelCamera& query) const {
  LOCI_CHECK(!frames_.empty(), "the patch memory has no frame");
  return options_.selection == PatchOptions::Selection::kCoverage ? choose_by_coverage(query)
                                                                  : choose_by_pose(query);
}

std::vector<int64_t> PatchMemory::choose_by_coverage(const PixelCamera& query) const {
  using Cells = std::set<std::pair<int64_t, int64_t>>;
  std::map<int64_t, Cells> covered_by;
  for (int64_t frame = 0; frame < size(); frame += kPoolStride) {
    for (const Landing& landing : project(frame, query, kCoarse)) {
      if (landing.stored_depth <= kLeastStoredDepth) continue;
      covered_by[frame].emplace(landing.row / kCoarse, landing.column / kCoarse);
    }
  }
  std::vector<int64_t> chosen;
  Cells covered;
  // Adds the frame with the largest gain, the first of equal ones, until there is no gain.
  const auto add_best = [&](const auto& gain) {
    while (std::ssize(chosen) < options_.frames) {
      int64_t best = -1, most = 0;
      for (const auto& [frame, cells] : covered_by) {
        if (std::ranges::find(chosen, frame) != chosen.end()) continue;
        const int64_t more = gain(cells);
        if (more > most) {
          most = more;
          best = frame;
        }
      }
      if (best < 0) return;
      chosen.push_back(best);
      covered.insert(covered_by[best].begin(), covered_by[best].end());
    }
  };
  add_best([&](const Cells& cells) {
    return std::ranges::count_if(cells, [&](const auto& cell) { return !covered.contains(cell); });
  });
  add_best([](const Cells& cells) { return std::ssize(cells); });
  chosen.resize(static_cast<size_t>(options_.frames), chosen.empty() ? -1 : chosen.back());
  return chosen;
}

std::vector<int64_t> PatchMemory::choose_by_pose(const PixelCamera& query) const {
  const camera::Vec3 ahead = query.pose.rotation.column(2);
  const auto distance = [](const camera::Vec3& a, const camera::Vec3& b) {
    return camera::norm(a - b);
  };
  std::vector<std::pair<double, int64_t>> turned, near;
  for (int64_t i = 0; i < size(); ++i) {
    const camera::Vec3 other = frames_[static_cast<size_t>(i)].camera.pose.rotation.column(2);
    turned.emplace_back(-camera::dot(ahead, other), i);
  }
  std::ranges::sort(turned);
  turned.resize(std::min(turned.size(), static_cast<size_t>(kPoolPerFrame * options_.frames)));
  const auto position = [&](int64_t i) {
    return frames_[static_cast<size_t>(i)].camera.pose.position;
  };
  for (const auto& [unused, i] : turned) {
    near.emplace_back(distance(position(i), query.pose.position), i);
  }
  std::ranges::stable_sort(near, {}, &std::pair<double, int64_t>::first);
  std::vector<int64_t> chosen;
  for (const bool apart : {true, false}) {
    for (const auto& [unused, i] : near) {
      if (std::ssize(chosen) == options_.frames) break;
      const bool excluded = std::ranges::any_of(chosen, [&](int64_t taken) {
        return taken == i || (apart && distance(position(taken), position(i)) < kApart);
      });
      if (!excluded) chosen.push_back(i);
    }
  }
  chosen.resize(static_cast<size_t>(options_.frames), chosen.back());
  return chosen;
}

at::Tensor PatchMemory::fuse(const std::vector<int64_t>& chosen, const PixelCamera& query) const {
  const std::vector<int64_t> use =
      chosen.empty() || chosen.front() < 0 ? std::vector<int64_t>{0} : chosen;
  const at::Tensor& first = frames_.at(0).latent;
  const int64_t height = first.size(1), width = first.size(2);
  at::Tensor fused = at::zeros(first.sizes(), first.options());
  std::vector<double> depths(static_cast<size_t>(height * width), -1);  // -1: not filled
  int64_t filled = 0;
  std::set<int64_t> used;
  for (const int64_t frame : use) {
    if (!used.insert(frame).second) continue;
    // The nearest latent of this frame in every cell.
    std::map<int64_t, Landing> best;
    for (const Landing& landing : project(frame, query, 1)) {
      const auto [found, fresh] = best.emplace(landing.row * width + landing.column, landing);
      if (!fresh && landing.depth < found->second.depth) found->second = landing;
    }
    std::vector<int64_t> to, from;
    for (const auto& [cell, landing] : best) {
      double& depth = depths[static_cast<size_t>(cell)];
      const bool better = options_.keep_farthest ? landing.depth > depth : landing.depth < depth;
      if (depth >= 0 && !better) continue;
      filled += depth < 0 ? 1 : 0;
      depth = landing.depth;
      to.push_back(cell);
      from.push_back(landing.from_row * width + landing.from_column);
    }
    const at::Tensor source = frames_[static_cast<size_t>(frame)].latent.flatten(1);
    fused.view({first.size(0), -1})
        .index_copy_(1, at::tensor(to, at::kLong),
                     source.index_select(1, at::tensor(from, at::kLong)));
    if (static_cast<double>(filled) >= options_.fill_share * static_cast<double>(height * width)) {
      break;
    }
  }
  return fused;
}

}  // namespace loci::memory
