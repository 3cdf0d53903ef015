// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/drift/drift_suite.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/eval/drift/drift_sheet.h"
#include "loci/eval/drift/drift_windows.h"
#include "loci/eval/drift/visit_pairs.h"
#include "loci/eval/drift/walk_features.h"
#include "loci/eval/metrics/frechet.h"
#include "loci/eval/suites/runner.h"
#include "loci/io/media/image.h"

namespace loci::eval {

namespace fs = std::filesystem;

namespace {

class DriftObserver : public ContinuationObserver {
 public:
  struct Files {
    fs::path sheet, features;
  };
  DriftObserver(const EvalClips& clips, size_t clip, const Networks& networks,
                double window_seconds, std::string variant, Files files)
      : variant_(std::move(variant)),
        files_(std::move(files)),
        recorded_(clips, clip),
        windows_(clips, clip, window_seconds),
        visits_(clips, clip, networks),
        sheet_(clips.clip(clip), clips.clip(clip).clock) {
    if (networks.alex) features_.emplace(*networks.alex, clips.format().grid, windows_.grid());
  }

  void add(int64_t first, const at::Tensor& frames) override {
    const at::Tensor truth = recorded_.read(first, frames.size(0));
    windows_.add(first, frames, truth);
    visits_.add(first, frames, truth);
    sheet_.add(first, frames, truth);
    if (features_) features_->add(first, frames, truth);
  }

  void finish(MetricValues& values) override {
    values.merge(windows_.values());
    values.merge(visits_.values());
    if (features_) features_->features().save(files_.features);
    std::error_code error;
    fs::create_directories(files_.sheet.parent_path(), error);
    if (error) {
      fail("{}: cannot create the folder: {}", files_.sheet.parent_path().string(),
           error.message());
    }
    io::write_jpeg(files_.sheet, sheet_.picture());
  }

  std::vector<PictureRow> pictures() const override { return sheet_.rows(variant_); }

 private:
  std::string variant_;
  Files files_;
  RecordedFrames recorded_;
  DriftWindows windows_;
  VisitPairs visits_;
  DriftSheet sheet_;
  std::optional<WalkFeatureCollector> features_;
};

}  // namespace

DriftSuite::DriftSuite(ContinuationSetup setup, double window_seconds)
    : ContinuationSuite(std::move(setup)), window_seconds_(window_seconds) {
  const EvalClips& clips = eval_clips();
  std::vector<int64_t> counts;
  for (size_t i = 0; i < clips.size(); ++i) {
    counts.push_back(WindowGrid(clips.clip(i), window_seconds).count);
    if (!clips.has_depth(i)) ++without_depth_;
  }
  windows_ = *std::max_element(counts.begin(), counts.end());
  shorter_ = static_cast<size_t>(
      std::count_if(counts.begin(), counts.end(), [&](int64_t count) { return count < windows_; }));
  if (windows_ == 0) {
    fail(
        "no recording has {:g} s after the context, the length of a window; record longer walks or "
        "reduce --context-seconds or --window-seconds",
        window_seconds);
  }
}

Json DriftSuite::settings() const {
  Json json = ContinuationSuite::settings();
  json["window_seconds"] = window_seconds_;
  return json;
}

std::vector<Metric> DriftSuite::metrics() const {
  using Better = Metric::Better;
  const std::string window = fmt::format("{:g} s", window_seconds_);
  const bool alex = networks().alex.has_value();
  const std::string no_alex =
      alex ? "" : absent_note("LPIPS (AlexNet); scripts/fetch_lpips.py downloads it");
  std::vector<Metric> metrics = {
      {"sharpness", "sharpness / recording", Better::kNearOne, 2},
      {"sharpness_lowest", "lowest sharpness in " + window, Better::kHigher, 2},
      {"contrast", "contrast / recording", Better::kNearOne, 2},
      {"contrast_lowest", "lowest contrast in " + window, Better::kHigher, 2},
      {"flicker", "flicker / recording", Better::kNearOne, 2},
      {"flicker_highest", "highest flicker in " + window, Better::kLower, 2},
      {"frechet", "Fréchet distance", Better::kLower, 2, no_alex}};
  const auto add = [&](const std::vector<std::string>& keys, const std::string& table) {
    for (Metric& metric : pick_metrics(continuation_metrics(networks()), keys)) {
      metric.table = table;
      metrics.push_back(std::move(metric));
    }
  };
  add({"psnr", "lpips"}, "");
  const std::string returns = "Returns";
  add({"psnr_context", "lpips_context", "psnr_revisit", "lpips_revisit"}, returns);
  metrics.push_back(
      {"psnr_visits", "PSNR between generated visits", Better::kHigher, 2, "", returns});
  metrics.push_back(
      {"lpips_visits", "LPIPS between generated visits", Better::kLower, 3, no_alex, returns});
  metrics.push_back(
      {"psnr_visits_recorded", "PSNR between recorded visits", Better::kNeither, 2, "", returns});
  metrics.push_back({"lpips_visits_recorded", "LPIPS between recorded visits", Better::kNeither, 3,
                     no_alex, returns});
  const std::string since = ", by seconds since the context";
  std::vector<Metric> timed = {{"sharpness", "Sharpness / recording" + since, Better::kNearOne, 2},
                               {"contrast", "Contrast / recording" + since, Better::kNearOne, 2},
                               {"flicker", "Flicker / recording" + since, Better::kNearOne, 2}};
  if (alex) timed.push_back({"frechet", "Fréchet distance" + since, Better::kLower, 2});
  for (const Metric& metric : timed) {
    for (int64_t i = 0; i < windows_; ++i) {
      const auto at = static_cast<double>(i);
      metrics.push_back({metric.key + window_suffix(window_seconds_, i),
                         fmt::format("{:g}–{:g}", at * window_seconds_, (at + 1) * window_seconds_),
                         metric.better, metric.digits, "", metric.title});
    }
  }
  return metrics;
}

fs::path DriftSuite::features_file(const std::string& variant, const std::string& clip) const {
  return setup().out / "features" / file_name(variant) / (file_name(clip) + ".safetensors");
}

std::unique_ptr<ContinuationObserver> DriftSuite::observe(size_t clip, const std::string& variant) {
  const std::string& name = eval_clips().clip(clip).name;
  return std::make_unique<DriftObserver>(
      eval_clips(), clip, networks(), window_seconds_, variant,
      DriftObserver::Files{setup().out / "sheets" / variant / (name + ".jpg"),
                           features_file(variant, name)});
}

void DriftSuite::conclude(std::vector<PartResult>& parts) {
  if (!networks().alex) return;
  for (const std::string& variant : variants_of(*this)) {
    std::vector<MetricValues*> values;
    std::vector<WalkFeatures> walks;
    for (PartResult& part : parts) {
      const auto found = part.values.find(variant);
      if (found == part.values.end()) continue;
      values.push_back(&found->second);
      walks.push_back(WalkFeatures::load(features_file(variant, part.clip)));
    }
    // Adds the distances of the walks that have frames there.
    const auto add = [&](const std::string& key, const auto& choose) {
      std::vector<at::Tensor> generated, recorded;
      std::vector<MetricValues*> into;
      for (size_t i = 0; i < walks.size(); ++i) {
        const WalkFeatures chosen = choose(walks[i]);
        if (chosen.window.size(0) < 2) continue;
        generated.push_back(chosen.generated);
        recorded.push_back(chosen.recorded);
        into.push_back(values[i]);
      }
      const std::vector<double> distances = frechet_by_walk(generated, recorded);
      for (size_t i = 0; i < into.size(); ++i) (*into[i])[key] = {distances[i]};
    };
    add("frechet", [](const WalkFeatures& walk) { return walk; });
    for (int64_t window = 0; window < windows_; ++window) {
      add("frechet" + window_suffix(window_seconds_, window),
          [&](const WalkFeatures& walk) { return walk.in_window(window); });
    }
  }
}

PlotPanel DriftSuite::panel(const Summary& summary, const std::string& metric,
                            const std::string& title, bool relative) const {
  PlotPanel panel{title, "seconds since the context", {}};
  const auto centre = [&](int64_t window) {
    return (static_cast<double>(window) + 0.5) * window_seconds_;
  };
  for (const VariantSummary& row : summary.variants) {
    PlotSeries series{row.variant, {}};
    for (int64_t i = 0; i < windows_; ++i) {
      const auto found = row.metrics.find(metric + window_suffix(window_seconds_, i));
      if (found == row.metrics.end()) continue;
      series.points.emplace_back(centre(i), found->second.mean);
      series.intervals.emplace_back(found->second.low, found->second.high);
    }
    panel.series.push_back(std::move(series));
  }
  if (relative) panel.series.push_back({"recording", {{centre(0), 1}, {centre(windows_ - 1), 1}}});
  return panel;
}

std::vector<std::vector<PlotPanel>> DriftSuite::plots(const std::vector<PartResult>& parts) const {
  const Summary summary = summarise(*this, parts);
  std::vector<std::vector<PlotPanel>> rows = {
      {panel(summary, "sharpness", "sharpness / recording", true),
       panel(summary, "contrast", "contrast / recording", true)},
      {panel(summary, "flicker", "flicker / recording", true)}};
  if (networks().alex) {
    rows[1].push_back(panel(summary, "frechet", "Fréchet distance", false));
  }
  return rows;
}

std::vector<std::string> DriftSuite::notes() const {
  const EvalClips& clips = eval_clips();
  const camera::TimeGrid& grid = clips.format().grid;
  std::vector<std::string> notes = {
      "Sharpness (variance of the Laplacian), contrast (standard deviation of the luma) and "
      "flicker "
      "(change between neighbouring frames after compensating the camera's motion) are divided by "
      "those of the recording along the same path. A blurred video flickers little: read flicker "
      "together with sharpness."};
  if (networks().alex) {
    notes.push_back(fmt::format(
        "The Fréchet distance compares 256 features of AlexNet, {:g} generated and as many "
        "recorded "
        "frames per walk and second. It is computed over all walks; with few walks it is noisy and "
        "may be negative, because its bias is subtracted.",
        clips.clip(0).clock / static_cast<double>(grid.frames_per_latent)));
  }
  if (without_depth_ > 0) {
    notes.push_back(
        fmt::format("{} of {} recordings have no depth: their flicker compensates only rotations "
                    "of the camera.",
                    without_depth_, clips.size()));
  }
  if (shorter_ > 0) {
    notes.push_back(
        fmt::format("{} of {} recordings are shorter than the longest: later windows contain fewer "
                    "walks.",
                    shorter_, clips.size()));
  }
  for (std::string& note : ContinuationSuite::notes()) notes.push_back(std::move(note));
  return notes;
}

}  // namespace loci::eval
