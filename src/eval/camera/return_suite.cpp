// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/camera/return_suite.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/eval/metrics/image_metrics.h"
#include "loci/eval/suites/continuation.h"
#include "loci/eval/suites/continuation_suite.h"
#include "loci/eval/suites/path_clips.h"
#include "loci/eval/suites/prediction_video.h"

namespace loci::eval {

namespace {

constexpr int64_t kSamples = 10;
constexpr double kGate = 0.15;

// Frames at which the path is sampled; the return frame is the last.
std::vector<int64_t> samples(int64_t back) {
  std::vector<int64_t> frames;
  for (int64_t i = 0; i < kSamples; ++i) {
    // Rounds down like numpy's linspace with an integer dtype.
    frames.push_back(
        static_cast<int64_t>(static_cast<double>(back) * static_cast<double>(i) / (kSamples - 1)));
  }
  return frames;
}

}  // namespace

ReturnScore return_score(int64_t back, const std::function<double(int64_t frame)>& distance) {
  const auto similarity = [&](int64_t frame) { return 1 / (1 + distance(frame)); };
  double least = 1;
  for (const int64_t frame : samples(back)) least = std::min(least, similarity(frame));
  return {similarity(back), std::min(1.0, (1 - least) / kGate)};
}

int64_t return_frame(const std::vector<camera::Pose>& poses) {
  LOCI_CHECK(!poses.empty(), "the path has no poses");
  constexpr double kEqual = 1e-6;
  const auto turn = [&](size_t i) {
    return camera::angle_between(poses[0].rotation, poses[i].rotation);
  };
  const auto away = [&](size_t i) { return camera::norm(poses[i].position - poses[0].position); };
  size_t best = poses.size() - 1;
  for (size_t i = poses.size() / 2; i < poses.size(); ++i) {
    const double difference = turn(i) - turn(best);
    if (difference < -kEqual ||
        (difference < kEqual && away(i) < away(best) + kEqual && i >= best) ||
        (difference < kEqual && away(i) < away(best) - kEqual)) {
      best = i;
    }
  }
  return static_cast<int64_t>(best);
}

const std::vector<std::string>& return_distances() {
  static const std::vector<std::string> names = {"pixels", "lpips", "dino", "clip"};
  return names;
}

ReturnSuite::ReturnSuite(ReturnSetup setup)
    : ModelSuite(setup.models, setup.arms, setup.sampling.dtype, setup.predictions),
      setup_(std::move(setup)),
      networks_(Networks::load(setup_.weights)) {
  const std::pair<const char*, bool> needs[] = {{"lpips", networks_.alex.has_value()},
                                                {"dino", networks_.dino.has_value()},
                                                {"clip", networks_.clip.has_value()}};
  for (const auto& [name, there] : needs) {
    if (setup_.distance == name && !there) {
      fail("--distance {}: its weights are missing in --weights; --distance pixels needs none",
           name);
    }
  }
  clips_ = open_paths(setup_.data, format_of(setup_.models, setup_.predictions, setup_.sampling),
                      setup_.routes, /*seconds=*/20, setup_.count);
  check_predictions(setup_.predictions, *clips_);
  warn_of_captions(setup_.models, setup_.sampling, *clips_);
}

Json ReturnSuite::settings() const {
  Json json = describe(setup_.models, setup_.arms, setup_.sampling);
  json["suite"] = "return";
  json["data"] = data_fingerprint(setup_.data, setup_.out);
  json["distance"] = setup_.distance;
  describe_predictions(setup_.predictions, json);
  json["clips"] = clips();
  return json;
}

std::vector<Metric> ReturnSuite::metrics() const {
  using Better = Metric::Better;
  return {{"score", "gated return (" + setup_.distance + ")", Better::kHigher, 2},
          {"similarity", "similarity at return", Better::kHigher, 3},
          {"gate", "gate", Better::kHigher, 3}};
}

std::vector<std::string> ReturnSuite::notes() const {
  std::vector<std::string> notes = {
      fmt::format("Similarity is 1 / (1 + distance), with distance '{}'. WBench uses DreamSim and "
                  "poses estimated from the video, so its numbers are not comparable.",
                  setup_.distance)};
  add_caption_note(setup_.models, setup_.sampling, *clips_, notes);
  return notes;
}

double ReturnSuite::distance(const at::Tensor& a, const at::Tensor& b) const {
  if (setup_.distance == "lpips") return networks_.alex->distance(a, b).front();
  if (setup_.distance == "pixels") return std::sqrt(mse(a, b).front());
  const VisionTower& tower = setup_.distance == "dino" ? *networks_.dino : *networks_.clip;
  return 1 - (tower(a).global * tower(b).global).sum().item<double>();
}

PartResult ReturnSuite::run(size_t clip) {
  const EvalClip& path = clips_->clip(clip);
  const at::Tensor first = clips_->read(clip, 0, 1);
  const int64_t back = return_frame(camera::poses_of(path.trajectory.cameras));
  const std::vector<int64_t> wanted = samples(back);
  PartResult part;
  PictureRow row{"start, on the way, return", {make_cell("start", first[0])}};
  const auto measure = [&](const std::string& name, bool shown, const auto& produce) {
    std::map<int64_t, at::Tensor> frames = {{0, first}};
    produce([&](int64_t begin, const at::Tensor& chunk) {
      for (const int64_t frame : wanted) {
        if (frame >= begin && frame < begin + chunk.size(0)) {
          frames[frame] = chunk.narrow(0, frame - begin, 1).clone();
        }
      }
    });
    const ReturnScore score =
        return_score(back, [&](int64_t frame) { return distance(first, frames.at(frame)); });
    if (shown) {
      row.cells.push_back(make_cell(name + ", halfway", frames.at(wanted[kSamples / 2])[0]));
      row.cells.push_back(
          make_cell(fmt::format("{}, return: {:.1f}", name, score.score()), frames.at(back)[0]));
    }
    return MetricValues{
        {"score", {score.score()}}, {"similarity", {score.similarity}}, {"gate", {score.gate}}};
  };
  if (const ModelChoice* videos = prediction()) {
    part.values[videos->name] =
        measure(videos->name, true, [&](const Continuation::FrameSink& take) {
          replay_prediction(prediction_file(videos->path, *clips_, clip), *clips_, clip, take);
        });
  } else {
    const Continuation continuation(folder(), *clips_, clip, setup_.sampling);
    for (const Arm& arm : setup_.arms) {
      std::vector<MetricValues> runs;
      for (const Arm& seeded : with_seeds(arm, setup_.sampling)) {
        runs.push_back(
            measure(variant(arm), runs.empty(),
                    [&](const Continuation::FrameSink& take) { continuation.run(seeded, take); }));
      }
      part.values[variant(arm)] = mean_of(runs);
    }
  }
  part.pictures = {std::move(row)};
  return part;
}

}  // namespace loci::eval
