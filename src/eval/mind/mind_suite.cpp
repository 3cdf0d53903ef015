// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/mind/mind_suite.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "loci/base/error.h"
#include "loci/eval/suites/continuation_scores.h"

namespace loci::eval {

namespace {
constexpr int64_t kFirstFrames = 480;  // 20 s
}

MetricValues mind_values(const MindRecording& recording, const std::filesystem::path& prediction,
                         const MindScoring& scoring, const model::Lpips* lpips) {
  const MindFrames frames = score_mind_frames(recording.video, recording.mark_time,
                                              recording.total_time, prediction, scoring, lpips);
  MetricValues values;
  const auto add = [&](const std::string& key, const std::vector<double>& all, int64_t count) {
    if (all.empty() || count < 1) return;
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      sum += std::min(all[static_cast<size_t>(i)], kIdenticalPsnr);
    }
    values[key] = {sum / static_cast<double>(count)};
  };
  const int64_t total = std::ssize(frames.mse);
  MindScoring first = scoring;
  first.max_frames = kFirstFrames;
  const std::pair<std::string, int64_t> parts[] = {{"", scored_frames(total, scoring)},
                                                   {"_20", scored_frames(total, first)}};
  for (const auto& [suffix, count] : parts) {
    add("mse" + suffix, frames.mse, count);
    add("psnr" + suffix, frames.psnr, count);
    add("ssim" + suffix, frames.ssim, count);
    add("lpips" + suffix, frames.lpips, count);
  }
  return values;
}

MindPredictionSuite::MindPredictionSuite(MindPredictionSetup setup)
    : setup_(std::move(setup)),
      networks_(Networks::load(setup_.weights)),
      recordings_(find_mind(setup_.data)) {
  if (recordings_.empty()) {
    fail("{}: not the MIND dataset; expected 1st_data/test/mem_test or 3rd_data/test/mem_test",
         setup_.data.string());
  }
  // Views that no tree contains are skipped.
  std::erase_if(recordings_, [&](const MindRecording& recording) {
    return std::none_of(setup_.trees.begin(), setup_.trees.end(), [&](const ModelChoice& tree) {
      return std::filesystem::exists(tree.path / recording.view);
    });
  });
  if (setup_.count && std::ssize(recordings_) > *setup_.count) {
    recordings_.resize(static_cast<size_t>(*setup_.count));
  }
  for (const ModelChoice& tree : setup_.trees) {
    for (const MindRecording& recording : recordings_) {
      const std::filesystem::path file = MindPrediction::file(tree.path, recording);
      if (!std::filesystem::exists(file)) fail("{}: the prediction is missing", file.string());
    }
  }
}

Json MindPredictionSuite::settings() const {
  Json trees = Json::array();
  for (const ModelChoice& tree : setup_.trees) {
    trees.push_back({{"name", tree.name}, {"videos", data_fingerprint(tree.path, {})}});
  }
  return {{"suite", "mind"},
          {"predictions", trees},
          {"data", data_fingerprint(setup_.data, {})},
          {"mind_compat", setup_.scoring.compatible},
          {"ssim_border", setup_.scoring.border == SsimBorder::kCropped ? "cropped" : "mirrored"},
          {"networks", networks_.describe()},
          {"clips", clips()}};
}

std::vector<std::string> MindPredictionSuite::clips() const {
  std::vector<std::string> names;
  for (const MindRecording& recording : recordings_) names.push_back(recording.clip());
  return names;
}

std::vector<VariantGroup> MindPredictionSuite::groups() const {
  std::vector<VariantGroup> groups;
  for (const ModelChoice& tree : setup_.trees) groups.push_back({tree.name, {tree.name}});
  return groups;
}

std::vector<Metric> MindPredictionSuite::metrics() const {
  return pick_metrics(continuation_metrics(networks_),
                      {"mse", "psnr", "ssim", "lpips", "mse_20", "psnr_20", "ssim_20", "lpips_20"});
}

PartResult MindPredictionSuite::run(size_t clip) {
  const MindRecording& recording = recordings_.at(clip);
  const ModelChoice& tree = setup_.trees.at(open_);
  PartResult part;
  part.values[tree.name] = mind_values(recording, MindPrediction::file(tree.path, recording),
                                       setup_.scoring, networks_.alex ? &*networks_.alex : nullptr);
  return part;
}

}  // namespace loci::eval
