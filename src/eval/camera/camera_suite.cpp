// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/camera/camera_suite.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/eval/camera/two_view.h"
#include "loci/eval/suites/continuation.h"
#include "loci/eval/suites/continuation_suite.h"
#include "loci/eval/suites/path_clips.h"

namespace loci::eval {

namespace {

constexpr double kStep = 0.5;             // seconds between the frames of a pair
constexpr double kMinTranslation = 0.05;  // metres
const double kMinRotation = camera::radians(2);

void add_median(MetricValues& values, const std::string& key, std::vector<double> list) {
  if (list.empty()) return;
  std::nth_element(list.begin(), list.begin() + std::ssize(list) / 2, list.end());
  values[key] = {list[list.size() / 2]};
}

}  // namespace

MetricValues camera_values(const std::vector<at::Tensor>& frames,
                           const std::vector<camera::Pose>& poses, const camera::Pinhole& lens,
                           const at::Tensor& depth) {
  LOCI_CHECK(frames.size() == poses.size(), "{} frames, {} poses", frames.size(), poses.size());
  std::vector<double> turns, directions, ratios, distances;
  double failed = 0, pairs = 0;
  for (size_t i = 1; i < frames.size(); ++i) {
    ++pairs;
    const std::optional<TwoView> seen = two_view_motion(frames[i - 1], frames[i], lens);
    if (!seen) {
      ++failed;
      continue;
    }
    // Transforms points from the axes of the first camera to those of the second.
    const camera::Pose wanted = poses[i].inverse() * poses[i - 1];
    turns.push_back(camera::degrees(camera::angle_between(seen->rotation, wanted.rotation)));
    const double commanded = camera::angle_between({}, wanted.rotation);
    if (commanded >= kMinRotation) {
      ratios.push_back(camera::angle_between({}, seen->rotation) / commanded);
    }
    const double length = camera::norm(wanted.position);
    if (length >= kMinTranslation) {
      const double cosine = camera::dot(seen->direction, wanted.position) / length;
      directions.push_back(camera::degrees(std::acos(std::clamp(cosine, -1.0, 1.0))));
    }
  }
  for (size_t i = 1; i < frames.size() && depth.defined(); ++i) {
    const double wanted = camera::norm(poses[i].position - poses[0].position);
    if (wanted < kMinDistance) continue;
    const std::optional<camera::Pose> seen = metric_motion(frames[0], depth, frames[i], lens);
    if (seen) distances.push_back(camera::norm(seen->position) / wanted);
  }
  MetricValues values;
  if (pairs > 0) values["failed"] = {failed / pairs};
  add_median(values, "rotation", std::move(turns));
  add_median(values, "direction", std::move(directions));
  add_median(values, "ratio", std::move(ratios));
  add_median(values, "distance_ratio", std::move(distances));
  return values;
}

CameraSuite::CameraSuite(CameraSetup setup)
    : ModelSuite(setup.models, setup.arms, setup.sampling.dtype), setup_(std::move(setup)) {
  // Without OpenCV, fails before anything is generated.
  if (!two_view_available()) two_view_motion({}, {}, {});
  clips_ = open_paths(setup_.data, common_format(setup_.models, setup_.sampling), setup_.routes,
                      setup_.seconds, setup_.count);
  for (size_t i = 0; i < clips_->size(); ++i) any_depth_ = any_depth_ || clips_->has_depth(i);
}

Json CameraSuite::settings() const {
  Json json = describe(setup_.models, setup_.arms, setup_.sampling);
  json["suite"] = "camera";
  json["data"] = data_fingerprint(setup_.data, setup_.out);
  json["seconds"] = setup_.seconds;
  json["clips"] = clips();
  return json;
}

std::vector<Metric> CameraSuite::metrics() const {
  using Better = Metric::Better;
  return {{"rotation", "rotation error, °", Better::kLower, 2},
          {"direction", "translation direction error, °", Better::kLower, 1},
          {"ratio", "generated / commanded rotation", Better::kNearOne, 2},
          {"distance_ratio", "generated / commanded distance", Better::kNearOne, 2,
           any_depth_ ? "" : "not measured because no recording has depth"},
          {"failed", "pairs without an estimate", Better::kLower, 2}};
}

std::vector<std::string> CameraSuite::notes() const {
  return {
      "Values are medians over the pairs of frames of a path, half a second apart. Two views do "
      "not determine a distance: distances are measured from the first frame, with its recorded "
      "depth, in frames that show enough of it."};
}

PartResult CameraSuite::run(size_t clip) {
  const Continuation continuation(folder(), *clips_, clip, setup_.sampling);
  const EvalClip& path = clips_->clip(clip);
  const ClipFormat& format = clips_->format();
  const auto step = std::max<int64_t>(1, std::llround(kStep * format.fps));
  const camera::Pinhole lens = camera::pixel_pinhole(
      path.trajectory.cameras.front().lens,
      {static_cast<int>(format.width), static_cast<int>(format.height)}, "two-view geometry");
  const at::Tensor depths = clips_->depth(clip);
  const at::Tensor depth = depths.defined() ? depths[0] : at::Tensor();
  PartResult part;
  for (const Arm& arm : setup_.arms) {
    const std::string name = variant(arm);
    std::vector<at::Tensor> frames = {clips_->read(clip, 0, 1)[0]};
    std::vector<camera::Pose> poses = {path.trajectory.cameras[0].pose};
    continuation.run(arm, [&](int64_t first, const at::Tensor& chunk) {
      for (int64_t i = 0; i < chunk.size(0); ++i) {
        if ((first + i) % step != 0) continue;
        frames.push_back(chunk[i].clone());
        poses.push_back(path.trajectory.cameras[static_cast<size_t>(first + i)].pose);
      }
    });
    part.values[name] = camera_values(frames, poses, lens, depth);
    PictureRow row{"start, halfway, end", {make_cell("start", frames.front())}};
    row.cells.push_back(make_cell(name + ", halfway", frames[frames.size() / 2]));
    row.cells.push_back(make_cell(name + ", end", frames.back()));
    if (part.pictures.empty()) part.pictures.push_back(std::move(row));
  }
  return part;
}

}  // namespace loci::eval
