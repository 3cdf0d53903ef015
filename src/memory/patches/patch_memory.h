// SPDX-License-Identifier: Apache-2.0
// A memory of latents in space: stored frames with depth, whose latents are moved to where a new
// camera sees them. Matrix-Game's.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/camera/pose.h"

namespace loci::memory {

// Pose (camera to world) and fx, fy, cx, cy in pixels.
struct PixelCamera {
  camera::Pose pose;
  std::array<double, 4> pinhole = {};
};

struct PatchFrame {
  PixelCamera camera;
  at::Tensor latent;  // [C, h, w], of this frame alone
  // [Hd, Wd] of any size: z in the camera, in the unit of the poses.
  at::Tensor depth;
};

struct PatchOptions {
  // Which stored frames a query uses: those that cover most of its view (of every second frame), or
  // those with the nearest poses.
  enum class Selection { kCoverage, kPose };
  Selection selection = Selection::kCoverage;
  int64_t frames = 5;         // used per query
  int64_t stride = 16;        // pixels per latent
  bool keep_farthest = true;  // of two frames in one latent; otherwise the nearest
  double fill_share = 0.95;   // no further frame is used once this share of latents is filled
};

class PatchMemory {
 public:
  explicit PatchMemory(const PatchOptions& options) : options_(options) {}

  // All frames have the same latent size.
  void add(PatchFrame frame) { frames_.push_back(std::move(frame)); }
  int64_t size() const { return std::ssize(frames_); }

  // Indices of stored frames in the order of their use, always options.frames; -1 for all if no
  // frame covers the view. Frames may be repeated.
  std::vector<int64_t> choose(const PixelCamera& query) const;
  // [C, h, w]: the latents of the chosen frames as the query sees them, zero where there are none.
  // Frame 0 replaces an empty choice.
  at::Tensor fuse(const std::vector<int64_t>& chosen, const PixelCamera& query) const;

 private:
  struct Landing;
  // Where the latents of a frame land in the query's grid, for every `coarse`-th latent.
  std::vector<Landing> project(int64_t frame, const PixelCamera& query, int64_t coarse) const;
  std::vector<int64_t> choose_by_coverage(const PixelCamera& query) const;
  std::vector<int64_t> choose_by_pose(const PixelCamera& query) const;

  PatchOptions options_;
  std::vector<PatchFrame> frames_;
};

}  // namespace loci::memory
