// SPDX-License-Identifier: Apache-2.0
#include "loci/world/clip/clip_maker.h"

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/world/path/free_space.h"
#include "loci/world/scene/name_list.h"

namespace loci::world {

namespace {

constexpr std::string_view kSplitNames[] = {"train", "test", "held-out"};
constexpr int kPathAttempts = 6;
constexpr double kShortestReturn = 12;  // seconds; shorter clips may lack a revisit

void check(const ClipOptions& o) {
  const auto range = [](std::string_view what, double value, double low, double high) {
    if (!(value >= low && value <= high))
      fail("{} is {}; it must be between {} and {}", what, value, low, high);
  };
  range("the number of frames", static_cast<double>(o.frames), 1, 1e6);
  range("the width", o.width, 8, 8192);
  range("the height", o.height, 8, 8192);
  range("the frame rate", o.fps, 1, 240);
  range("the field of view", o.fov, 10, o.xi > 0 ? 300 : 150);
  range("xi", o.xi, 0, 1);
  range("the number of samples per pixel", o.samples, 1, 4);
  range("the share of revisits", o.revisit_share, 0, 1);
  range("the number of clips per scene", static_cast<double>(o.clips_per_scene), 1, 1e6);
  if (o.speed) range("the speed", *o.speed, 0.05, 20);
  if (o.turn_rate) range("the turn rate", *o.turn_rate, 1, 360);
  if (o.tour && !o.designed.empty()) fail("a clip cannot have both a tour and a designed path");
}

}  // namespace

bool is_test_scene(uint64_t scene_seed) { return hash_keys({scene_seed, 0x73706c6974}) % 16 == 0; }

std::string_view name_of(Split split) { return kSplitNames[static_cast<size_t>(split)]; }

Split parse_split(std::string_view name) { return value_of<Split>("split", name, kSplitNames); }

ClipPlan plan_clip(uint64_t seed, int64_t index, const ClipOptions& options) {
  if (index < 0) fail("the clip index is {}; it must not be negative", index);
  ClipPlan plan;
  const uint64_t group = static_cast<uint64_t>(index / options.clips_per_scene);
  const bool test = options.split != Split::kTrain;
  for (uint64_t attempt = 0;; ++attempt) {
    plan.scene_seed =
        hash_keys({seed, group, attempt}) >> 16;  // 48 bits are exact in JSON and in a double
    if (is_test_scene(plan.scene_seed) == test) break;
  }
  plan.scene = options.scene;
  if (options.split == Split::kHeldOut && !plan.scene.style) {
    plan.scene.style = kHeldOutStyles[plan.scene_seed % kHeldOutStyles.size()];
  }
  const bool held_out = plan.scene.style && std::find(kHeldOutStyles.begin(), kHeldOutStyles.end(),
                                                      *plan.scene.style) != kHeldOutStyles.end();
  if (held_out && options.split == Split::kTrain) {
    fail("the style {} is held out from training; use the split held-out",
         name_of(*plan.scene.style));
  }
  Random random{seed, static_cast<uint64_t>(index), 0x636c6970};
  plan.path_seed = random.next();
  plan.returns = random.chance(options.revisit_share);
  if (!options.designed.empty()) {
    plan.designed = options.designed[static_cast<size_t>(index) % options.designed.size()];
  }
  return plan;
}

Json describe(const ClipOptions& options) {
  Json designed = Json::array();
  for (const DesignedPath path : options.designed) designed.push_back(name_of(path));
  const SceneOptions& scene = options.scene;
  Json json = {
      {"split", name_of(options.split)},
      {"frames", options.frames},
      {"width", options.width},
      {"height", options.height},
      {"fps", options.fps},
      {"fov", options.fov},
      {"xi", options.xi},
      {"samples", options.samples},
      {"revisit_share", options.revisit_share},
      {"clips_per_world", options.clips_per_scene},
      {"style", scene.style ? Json(name_of(*scene.style)) : Json(nullptr)},
      {"time", scene.time ? Json(name_of(*scene.time)) : Json(nullptr)},
      {"weather", scene.weather ? Json(name_of(*scene.weather)) : Json(nullptr)},
      {"designed", designed},
  };
  // Newer options are absent unless they are used, so that manifests of older datasets still match.
  if (options.tour) json["tour"] = true;
  if (options.speed) json["speed"] = *options.speed;
  if (options.turn_rate) json["turn_rate"] = *options.turn_rate;
  return json;
}

camera::Lens lens_of(const ClipOptions& options) {
  camera::Lens lens;
  lens.fov_x = options.fov * (kPi / 180);
  lens.xi = options.xi;
  return lens;
}

RenderOptions render_options(const ClipOptions& options) {
  RenderOptions render;
  render.width = options.width;
  render.height = options.height;
  render.samples = options.samples;
  render.edge_samples = options.samples > 1 ? options.samples : 0;
  render.threads = options.threads;
  return render;
}

struct ClipMaker::Site {
  Scene scene;
  FreeSpace free_space;
  Site(Scene w) : scene(std::move(w)), free_space(scene) {}
};

ClipMaker::ClipMaker(const ClipOptions& options) : options_(options) { check(options); }
ClipMaker::~ClipMaker() = default;

ClipMaker::Site& ClipMaker::visit(const ClipPlan& plan) {
  if (!site_ || site_->scene.seed != plan.scene_seed) {
    site_ = std::make_unique<Site>(make_scene(plan.scene_seed, plan.scene));
  }
  return *site_;
}

std::vector<camera::Pose> ClipMaker::poses_of(const ClipPlan& plan, const Site& site) const {
  PathOptions path;
  path.frames = options_.frames;
  path.fps = options_.fps;
  path.returns = plan.returns;
  path.motion = motion_of(site.scene.style);
  if (options_.speed) path.motion.speed = *options_.speed;
  if (options_.turn_rate) path.motion.turn_rate = *options_.turn_rate;
  if (options_.tour) return make_tour(site.free_space, site.scene, plan.path_seed, path);
  if (plan.designed) {
    return make_designed_path(site.free_space, site.scene, *plan.designed, plan.path_seed, path);
  }
  const bool must_return =
      plan.returns && static_cast<double>(options_.frames) / options_.fps >= kShortestReturn;
  std::vector<camera::Pose> poses;
  for (int attempt = 0; attempt < kPathAttempts; ++attempt) {
    poses = make_path(site.free_space, site.scene,
                      hash_keys({plan.path_seed, static_cast<uint64_t>(attempt)}), path);
    if (!must_return || !camera::find_revisits(poses, options_.fps).empty()) break;
  }
  return poses;
}

ClipMaker::PlannedTrajectory ClipMaker::plan_trajectory(uint64_t seed, int64_t index) {
  const ClipPlan plan = plan_clip(seed, index, options_);
  const Site& site = visit(plan);
  return {poses_of(plan, site), site.scene, site.free_space};
}

Clip ClipMaker::make(uint64_t seed, int64_t index) {
  const ClipPlan plan = plan_clip(seed, index, options_);
  const Site& site = visit(plan);
  return render(seed, index, site, plan, poses_of(plan, site));
}

Clip ClipMaker::make(uint64_t seed, int64_t index, std::span<const camera::Pose> poses) {
  const ClipPlan plan = plan_clip(seed, index, options_);
  return render(seed, index, visit(plan), plan, poses);
}

Clip ClipMaker::render(uint64_t seed, int64_t index, const Site& site, const ClipPlan& plan,
                       std::span<const camera::Pose> poses) {
  const int64_t frames = static_cast<int64_t>(poses.size());
  Clip clip;
  clip.origin = {seed,
                 index,
                 plan.scene_seed,
                 std::string(name_of(site.scene.style)),
                 std::string(name_of(site.scene.mood.time)),
                 std::string(name_of(site.scene.mood.weather))};
  clip.captions = site.scene.captions;
  clip.caption = site.scene.captions.front();
  clip.path = options_.tour   ? "tour"
              : plan.designed ? std::string(name_of(*plan.designed))
                              : "walk";
  clip.revisits = camera::find_revisits(poses, options_.fps);
  clip.frames = at::empty({frames, options_.height, options_.width, 3}, at::kByte);
  if (options_.depth) clip.depth = at::empty({frames, options_.height, options_.width}, at::kFloat);
  const camera::Lens lens = lens_of(options_);
  const RenderOptions how = render_options(options_);
  const int64_t pixels = static_cast<int64_t>(options_.width) * options_.height;
  for (int64_t i = 0; i < frames; ++i) {
    check_interrupt();
    world::render(site.scene, {poses[static_cast<size_t>(i)], lens}, how,
                  clip.frames.data_ptr<uint8_t>() + i * pixels * 3,
                  options_.depth ? clip.depth.data_ptr<float>() + i * pixels : nullptr);
  }
  clip.trajectory.cameras = camera::with_lens(poses, lens);
  clip.trajectory.fps = options_.fps;
  clip.trajectory.width = options_.width;
  clip.trajectory.height = options_.height;
  return clip;
}

Clip make_clip(uint64_t seed, int64_t index, const ClipOptions& options) {
  return ClipMaker(options).make(seed, index);
}

std::unique_ptr<ClipLoader> load_scene_clips(uint64_t seed, const ClipOptions& clips,
                                             LoaderOptions options) {
  options.group = clips.clips_per_scene;
  return std::make_unique<ClipLoader>([&] { return std::make_unique<SceneClips>(seed, clips); },
                                      options);
}

}  // namespace loci::world
