// SPDX-License-Identifier: Apache-2.0
// Clips: a walk through a world as frames, poses and captions, the same for the same seed and index
// on every machine.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/camera/revisit.h"
#include "loci/camera/trajectory.h"
#include "loci/world/path/path.h"
#include "loci/world/render/renderer.h"
#include "loci/world/scene/world.h"

namespace loci::world {

// Worlds are divided by their seed, whatever the dataset: one in sixteen is for tests.
enum class Split {
  kTrain,
  kTest,     // unseen worlds of the styles of training
  kHeldOut,  // unseen styles
};
bool is_test_world(uint64_t world_seed);
std::string_view name_of(Split split);
Split parse_split(std::string_view name);

struct ClipOptions {
  int64_t frames = 81;
  int width = 192;
  int height = 128;
  double fps = 16;
  double fov = 75;             // horizontal, degrees
  double xi = 0;               // of the unified camera model; 0 = pinhole
  int samples = 2;             // a pixel, twice as many at edges
  double revisit_share = 0.7;  // share of clips whose path comes back to earlier views
  Split split = Split::kTrain;
  bool depth = false;
  int64_t clips_per_world = 1;         // consecutive indices that share a world
  WorldOptions world;                  // fixes style, time or weather
  std::vector<DesignedPath> designed;  // in turn, instead of walks
  int threads = 1;
};

camera::Lens lens_of(const ClipOptions& options);
RenderOptions render_options(const ClipOptions& options);

struct Clip {
  uint64_t seed = 0;
  int64_t index = 0;
  uint64_t world_seed = 0;
  Style style = Style::kTown;
  Mood mood;
  at::Tensor frames;              // uint8 [frames, height, width, 3]
  at::Tensor depth;               // float [frames, height, width], metres along the ray; undefined
                                  // unless asked for
  camera::Trajectory trajectory;  // camera to world, y down; the ground lies at y = 0
  std::string caption;
  std::vector<std::string> captions;  // the caption and paraphrases of it
  std::string path;                   // "walk", or the name of a designed path
  std::vector<camera::Revisit> revisits;
};

// What a clip shows, without the pictures.
struct ClipPlan {
  uint64_t world_seed = 0;
  WorldOptions world;
  uint64_t path_seed = 0;
  bool returns = false;
  std::optional<DesignedPath> designed;
};
ClipPlan plan_clip(uint64_t seed, int64_t index, const ClipOptions& options);

Clip make_clip(uint64_t seed, int64_t index, const ClipOptions& options);

// Makes clips and keeps the last world, which saves making it again for the next clip of it. Not
// thread-safe: one per worker.
class ClipMaker {
 public:
  explicit ClipMaker(const ClipOptions& options);
  ~ClipMaker();

  Clip make(uint64_t seed, int64_t index);
  // Where the clip's camera goes, and in which world.
  struct Walk {
    std::vector<camera::Pose> poses;
    const World& world;  // both until the next call
    const Walkable& walkable;
  };
  Walk walk(uint64_t seed, int64_t index);
  // The clip along given poses.
  Clip make(uint64_t seed, int64_t index, std::span<const camera::Pose> poses);

 private:
  struct Site;
  Site& visit(const ClipPlan& plan);
  std::vector<camera::Pose> poses_of(const ClipPlan& plan, const Site& site) const;
  Clip render(uint64_t seed, int64_t index, const Site& site, const ClipPlan& plan,
              std::span<const camera::Pose> poses);

  ClipOptions options_;
  std::unique_ptr<Site> site_;
};

}  // namespace loci::world
