// SPDX-License-Identifier: Apache-2.0
// Clips rendered from procedural scenes: a camera moves through a scene. A clip is determined by
// the dataset's seed, its index and the options, bit by bit, on every machine.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "loci/base/config.h"
#include "loci/world/path/free_space.h"
#include "loci/world/path/path.h"
#include "loci/world/recording/clip_loader.h"
#include "loci/world/render/renderer.h"
#include "loci/world/scene/scene.h"

namespace loci::world {

// The seed of a scene decides its split, in every dataset: one scene in sixteen is for tests.
enum class Split {
  kTrain,
  kTest,     // unseen scenes of the training styles
  kHeldOut,  // scenes of styles that training never uses
};
bool is_test_scene(uint64_t scene_seed);
std::string_view name_of(Split split);
// An unknown name is bad input that lists the names.
Split parse_split(std::string_view name);

struct ClipOptions {
  int64_t frames = 81;
  int width = 192;   // pixels
  int height = 128;  // pixels
  double fps = 16;
  double fov = 75;             // horizontal field of view, degrees
  double xi = 0;               // of the unified camera model; 0 = pinhole
  int samples = 2;             // per pixel; twice as many at edges
  double revisit_share = 0.7;  // share of clips whose trajectory returns to earlier views
  Split split = Split::kTrain;
  bool depth = false;                  // whether clips have depth
  int64_t clips_per_scene = 1;         // consecutive indices that share a scene
  SceneOptions scene;                  // fixes style, time or weather
  std::vector<DesignedPath> designed;  // used in rotation instead of random trajectories
  bool tour = false;                   // begin with a tour of the scene; the rest is a random path
  // Instead of those of the scene's style: metres per second, degrees per second.
  std::optional<double> speed, turn_rate;
  int threads = 1;                     // per frame; the clip does not depend on it
};

// The options that determine clip i of a seed, for manifest.json: all except the threads.
Json describe(const ClipOptions& options);

camera::Lens lens_of(const ClipOptions& options);
RenderOptions render_options(const ClipOptions& options);

// The random choices behind a clip.
struct ClipPlan {
  uint64_t scene_seed = 0;
  SceneOptions scene;
  uint64_t path_seed = 0;
  bool returns = false;  // whether the trajectory returns to earlier views
  std::optional<DesignedPath> designed;
};
ClipPlan plan_clip(uint64_t seed, int64_t index, const ClipOptions& options);

Clip make_clip(uint64_t seed, int64_t index, const ClipOptions& options);

// Makes clips and keeps the newest scene, so that consecutive clips of one scene build it once. Not
// thread-safe: use one per worker.
class ClipMaker {
 public:
  explicit ClipMaker(const ClipOptions& options);
  ~ClipMaker();

  Clip make(uint64_t seed, int64_t index);
  // The clip's scene along other poses.
  Clip make(uint64_t seed, int64_t index, std::span<const camera::Pose> poses);

  // The clip's camera poses, one per frame, and its scene.
  struct PlannedTrajectory {
    std::vector<camera::Pose> poses;
    const Scene& scene;           // valid until the next call of the maker
    const FreeSpace& free_space;  // likewise
  };
  PlannedTrajectory plan_trajectory(uint64_t seed, int64_t index);

 private:
  struct Site;
  Site& visit(const ClipPlan& plan);
  std::vector<camera::Pose> poses_of(const ClipPlan& plan, const Site& site) const;
  Clip render(uint64_t seed, int64_t index, const Site& site, const ClipPlan& plan,
              std::span<const camera::Pose> poses);

  ClipOptions options_;
  std::unique_ptr<Site> site_;
};

// The clips of a seed as a source for ClipLoader.
class SceneClips : public ClipSource {
 public:
  SceneClips(uint64_t seed, const ClipOptions& options) : seed_(seed), maker_(options) {}
  Clip make(int64_t index) override { return maker_.make(seed_, index); }

 private:
  uint64_t seed_;
  ClipMaker maker_;
};

// Loads the clips of a seed. The clips of one scene go to one rank and one worker.
std::unique_ptr<ClipLoader> load_scene_clips(uint64_t seed, const ClipOptions& clips,
                                             LoaderOptions options);

}  // namespace loci::world
