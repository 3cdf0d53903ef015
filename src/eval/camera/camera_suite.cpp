// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/camera/camera_suite.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/eval/camera/two_view.h"
#include "loci/eval/suites/continuation.h"
#include "loci/eval/suites/continuation_suite.h"
#include "loci/eval/suites/path_clips.h"
#include "loci/eval/suites/prediction_video.h"

namespace loci::eval {

namespace {

constexpr double kStep = 0.5;             // seconds between the frames of a pair
constexpr double kMinTranslation = 0.05;  // metres
const double kMinRotation = camera::radians(2);

constexpr double kNoEstimate = std::numeric_limits<double>::quiet_NaN();

}  // namespace

MetricValues camera_values(const std::vector<at::Tensor>& frames,
                           const std::vector<camera::Pose>& poses, const camera::Pinhole& lens,
                           const at::Tensor& depth) {
  LOCI_CHECK(frames.size() == poses.size(), "{} frames, {} poses", frames.size(), poses.size());
  if (frames.size() < 2) return {};
  const size_t pairs = frames.size() - 1;
  std::vector<double> turns(pairs, kNoEstimate), directions = turns, ratios = turns,
                                                 distances = turns;
  double failed = 0;
  for (size_t i = 1; i < frames.size(); ++i) {
    const std::optional<TwoView> seen = two_view_motion(frames[i - 1], frames[i], lens);
    if (!seen) {
      ++failed;
      continue;
    }
    // Transforms points from the axes of the first camera to those of the second.
    const camera::Pose wanted = poses[i].inverse() * poses[i - 1];
    turns[i - 1] = camera::degrees(camera::angle_between(seen->rotation, wanted.rotation));
    const double commanded = camera::angle_between({}, wanted.rotation);
    if (commanded >= kMinRotation) {
      ratios[i - 1] = camera::angle_between({}, seen->rotation) / commanded;
    }
    const double length = camera::norm(wanted.position);
    if (length >= kMinTranslation) {
      const double cosine = camera::dot(seen->direction, wanted.position) / length;
      directions[i - 1] = camera::degrees(std::acos(std::clamp(cosine, -1.0, 1.0)));
    }
  }
  for (size_t i = 1; i < frames.size() && depth.defined(); ++i) {
    const double wanted = camera::norm(poses[i].position - poses[0].position);
    if (wanted < kMinDistance) continue;
    const std::optional<camera::Pose> seen = metric_motion(frames[0], depth, frames[i], lens);
    if (seen) distances[i - 1] = camera::norm(seen->position) / wanted;
  }
  MetricValues values = {{"failed", {failed / static_cast<double>(pairs)}}};
  const std::pair<const char*, std::vector<double>&> lists[] = {{"rotation", turns},
                                                                {"direction", directions},
                                                                {"ratio", ratios},
                                                                {"distance_ratio", distances}};
  for (const auto& [key, list] : lists) {
    if (std::any_of(list.begin(), list.end(), [](double x) { return std::isfinite(x); })) {
      values[key] = std::move(list);
    }
  }
  return values;
}

CameraSuite::CameraSuite(CameraSetup setup)
    : ModelSuite(setup.models, setup.arms, setup.sampling.dtype, setup.predictions),
      setup_(std::move(setup)) {
  // Without OpenCV, fails before anything is generated.
  if (!two_view_available()) two_view_motion({}, {}, {});
  clips_ = open_paths(setup_.data, format_of(setup_.models, setup_.predictions, setup_.sampling),
                      setup_.routes, setup_.seconds, setup_.count);
  check_predictions(setup_.predictions, *clips_);
  warn_of_captions(setup_.models, setup_.sampling, *clips_);
  for (size_t i = 0; i < clips_->size(); ++i) any_depth_ = any_depth_ || clips_->has_depth(i);
}

Json CameraSuite::settings() const {
  Json json = describe(setup_.models, setup_.arms, setup_.sampling);
  json["suite"] = "camera";
  json["data"] = data_fingerprint(setup_.data, setup_.out);
  json["seconds"] = setup_.seconds;
  describe_predictions(setup_.predictions, json);
  json["clips"] = clips();
  return json;
}

std::vector<Metric> CameraSuite::metrics() const {
  using Better = Metric::Better;
  const std::string no_depth = any_depth_ ? "" : "not measured because no recording has depth";
  return {
      {"rotation", "rotation error, °", Better::kLower, 2, "", "", true},
      {"direction", "translation direction error, °", Better::kLower, 1, "", "", true},
      {"ratio", "generated / commanded rotation", Better::kNearOne, 2, "", "", true},
      {"distance_ratio", "generated / commanded distance", Better::kNearOne, 2, no_depth, "", true},
      {"failed", "pairs without an estimate", Better::kLower, 2}};
}

std::vector<std::string> CameraSuite::notes() const {
  std::vector<std::string> notes = {
      "Values are medians over all pairs of frames of all paths, half a second apart. Two views do "
      "not determine a distance: distances are measured from the first frame, with its recorded "
      "depth, in frames that show enough of it."};
  add_caption_note(setup_.models, setup_.sampling, *clips_, notes);
  return notes;
}

PartResult CameraSuite::run(size_t clip) {
  const EvalClip& path = clips_->clip(clip);
  const ClipFormat& format = clips_->format();
  const auto step = std::max<int64_t>(1, std::llround(kStep * format.fps));
  const camera::Pinhole lens = camera::pixel_pinhole(
      path.trajectory.cameras.front().lens,
      {static_cast<int>(format.width), static_cast<int>(format.height)}, "two-view geometry");
  const at::Tensor depths = clips_->depth(clip);
  const at::Tensor depth = depths.defined() ? depths[0] : at::Tensor();
  const at::Tensor start = clips_->read(clip, 0, 1)[0];
  PartResult part;
  const auto measure = [&](const std::string& name, const auto& produce) {
    std::vector<at::Tensor> frames = {start};
    std::vector<camera::Pose> poses = {path.trajectory.cameras[0].pose};
    produce([&](int64_t first, const at::Tensor& chunk) {
      for (int64_t i = 0; i < chunk.size(0); ++i) {
        if ((first + i) % step != 0) continue;
        frames.push_back(chunk[i].clone());
        poses.push_back(path.trajectory.cameras[static_cast<size_t>(first + i)].pose);
      }
    });
    if (part.pictures.empty()) {
      part.pictures = {{"start, halfway, end",
                        {make_cell("start", frames.front()),
                         make_cell(name + ", halfway", frames[frames.size() / 2]),
                         make_cell(name + ", end", frames.back())}}};
    }
    return camera_values(frames, poses, lens, depth);
  };
  if (const ModelChoice* videos = prediction()) {
    part.values[videos->name] = measure(videos->name, [&](const Continuation::FrameSink& take) {
      replay_prediction(prediction_file(videos->path, *clips_, clip), *clips_, clip, take);
    });
    return part;
  }
  const Continuation continuation(folder(), *clips_, clip, setup_.sampling);
  for (const Arm& arm : setup_.arms) {
    std::vector<MetricValues> runs;
    for (const Arm& seeded : with_seeds(arm, setup_.sampling)) {
      runs.push_back(measure(variant(arm), [&](const Continuation::FrameSink& take) {
        continuation.run(seeded, take);
      }));
    }
    part.values[variant(arm)] = mean_of(runs);
  }
  return part;
}

}  // namespace loci::eval
