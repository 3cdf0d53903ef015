// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/suites/continuation_suite.h"

#include <algorithm>

#include "loci/base/error.h"
#include "loci/eval/report/summary.h"
#include "loci/eval/suites/prediction_video.h"

namespace loci::eval {

ClipFormat common_format(const std::vector<ModelChoice>& models, const Sampling& sampling) {
  if (models.empty()) fail("--model is missing; expected at least one model folder");
  ClipFormat format;
  for (size_t i = 0; i < models.size(); ++i) {
    const sample::ModelFolder folder(models[i].path);
    const sample::GenerationDefaults& defaults = folder.defaults();
    ClipFormat own;
    own.width = sampling.width.value_or(defaults.width);
    own.height = sampling.height.value_or(defaults.height);
    own.fps = defaults.fps;
    own.fov = defaults.fov;
    own.grid = folder.time_grid();
    if (i == 0) format = own;
    if (own.width != format.width || own.height != format.height || own.fps != format.fps ||
        own.grid != format.grid) {
      fail(
          "{} generates {}x{} at {} frames per second in chunks of {} frames, but {} generates "
          "{}x{} at {} in chunks of {}; compared models must share the format (--size sets the "
          "frame size)",
          models[i].name, own.width, own.height, own.fps, own.grid.frames_per_chunk(),
          models[0].name, format.width, format.height, format.fps, format.grid.frames_per_chunk());
    }
  }
  return format;
}

ContinuationSuite::ContinuationSuite(ContinuationSetup setup)
    : ModelSuite(setup.models, setup.arms, setup.sampling.dtype),
      setup_(std::move(setup)),
      networks_(Networks::load(setup_.weights)),
      mind_(find_mind(setup_.data, setup_.clips.count)) {
  const ClipFormat format = setup_.models.empty() && !setup_.predictions.empty()
                                ? prediction_format(setup_.predictions.front().path)
                                : common_format(setup_.models, setup_.sampling);
  for (const ModelChoice& model : setup_.models) {
    recurrent_.push_back(has_recurrent_states(sample::ModelFolder(model.path).config()));
  }
  clips_ = mind_.empty() ? open_recordings(setup_.data, format, setup_.clips)
                         : open_mind(mind_, format, setup_.clips);
  for (const ModelChoice& folder : setup_.predictions) {
    for (size_t clip = 0; clip < clips_->size(); ++clip) {
      const std::filesystem::path file = prediction_file(folder.path, *clips_, clip);
      if (!std::filesystem::exists(file)) {
        fail("--predictions: {} is missing; expected one video per recording", file.string());
      }
    }
  }
}

std::string ContinuationSuite::name_of(size_t model, size_t arm) const {
  return variant_name(setup_.models[model], setup_.arms[arm], setup_.arms);
}

std::string ContinuationSuite::reconstruction_name(size_t model) const {
  return setup_.models[model].name + ", autoencoder";
}

bool ContinuationSuite::applies(size_t model, size_t arm) const {
  return recurrent_[model] || !setup_.arms[arm].base;
}

std::vector<VariantGroup> ContinuationSuite::groups() const {
  std::vector<VariantGroup> groups;
  for (size_t m = 0; m < setup_.models.size(); ++m) {
    VariantGroup& group = groups.emplace_back();
    group.name = setup_.models[m].name;
    for (size_t a = 0; a < setup_.arms.size(); ++a) {
      if (applies(m, a)) group.variants.push_back(name_of(m, a));
    }
    if (setup_.autoencoder) group.variants.push_back(reconstruction_name(m));
  }
  for (const ModelChoice& folder : setup_.predictions) {
    groups.push_back({folder.name, {folder.name}});
  }
  return groups;
}

void ContinuationSuite::open(size_t group) {
  prediction_.reset();
  if (group < setup_.models.size()) {
    ModelSuite::open(group);
  } else {
    prediction_ = group - setup_.models.size();
  }
}

Json ContinuationSuite::settings() const {
  Json json = describe(setup_.models, setup_.arms, setup_.sampling);
  json["suite"] = setup_.suite;
  json["data"] = data_fingerprint(setup_.data, setup_.out);
  json["context_seconds"] = setup_.clips.context_seconds;
  json["seconds"] = setup_.clips.seconds ? Json(*setup_.clips.seconds) : Json();
  if (!mind_.empty()) {
    json["mind_compat"] = setup_.mind.compatible;
    json["ssim_border"] = setup_.mind.border == SsimBorder::kCropped ? "cropped" : "mirrored";
  }
  for (const ModelChoice& folder : setup_.predictions) {
    json["predictions"].push_back(
        {{"name", folder.name}, {"videos", data_fingerprint(folder.path, {})}});
  }
  if (setup_.autoencoder) json["autoencoder"] = true;
  if (setup_.videos) json["videos"] = true;
  json["networks"] = networks_.describe();
  json["clips"] = clips();
  return json;
}

std::vector<Metric> ContinuationSuite::metrics() const {
  return pick_metrics(continuation_metrics(networks_), setup_.metrics);
}

std::vector<std::pair<std::string, std::string>> ContinuationSuite::pairs() const {
  std::vector<std::pair<std::string, std::string>> list;
  for (size_t a = 0; a < setup_.arms.size(); ++a) {
    for (size_t m = 1; m < setup_.models.size() && !setup_.arms[a].base; ++m) {
      list.emplace_back(name_of(0, a), name_of(m, a));
    }
  }
  for (size_t m = 0; m < setup_.models.size(); ++m) {
    for (size_t a = 1; a < setup_.arms.size(); ++a) {
      const std::optional<size_t>& base = setup_.arms[a].base;
      if (applies(m, a) && (base || !setup_.sweep)) {
        list.emplace_back(name_of(m, base.value_or(0)), name_of(m, a));
      }
    }
    if (setup_.autoencoder) list.emplace_back(name_of(m, 0), reconstruction_name(m));
  }
  const std::string first = variants_of(*this).front();
  for (const ModelChoice& folder : setup_.predictions) {
    if (folder.name != first) list.emplace_back(first, folder.name);
  }
  return list;
}

PartResult ContinuationSuite::run(size_t clip) {
  PartResult part;
  if (prediction_) {
    const ModelChoice& tree = setup_.predictions[*prediction_];
    measure(
        clip, tree.name,
        [&](const Continuation::FrameSink& take) {
          replay_prediction(prediction_file(tree.path, *clips_, clip), *clips_, clip, take);
          return ContinuationCost{};
        },
        part);
    return part;
  }
  const Continuation continuation(folder(), *clips_, clip, setup_.sampling);
  for (size_t a = 0; a < setup_.arms.size(); ++a) {
    if (!applies(opened(), a)) continue;
    measure(
        clip, variant(setup_.arms[a]),
        [&](const Continuation::FrameSink& take) { return continuation.run(setup_.arms[a], take); },
        part);
  }
  if (setup_.autoencoder) {
    measure(
        clip, reconstruction_name(opened()),
        [&](const Continuation::FrameSink& take) {
          continuation.reconstruct(take);
          return ContinuationCost{};
        },
        part);
  }
  return part;
}

void ContinuationSuite::measure(size_t clip, const std::string& name, const Produce& produce,
                                PartResult& part) {
  ContinuationScores scores(*clips_, clip, networks_);
  const std::unique_ptr<ContinuationObserver> observer = observe(clip, name);
  const std::filesystem::path folder = setup_.out / "predictions" / name;
  std::optional<MindPrediction> mind;
  if (!mind_.empty() && !prediction_)
    mind.emplace(folder, mind_[clip], clips_->format(), setup_.clips.seconds);
  std::optional<PredictionWriter> video;
  if (setup_.videos && !prediction_) video.emplace(folder, *clips_, clip);
  const ContinuationCost cost = produce([&](int64_t first, const at::Tensor& frames) {
    scores.add(first, frames);
    if (observer) observer->add(first, frames);
    if (mind) mind->add(frames);
    if (video) video->add(frames);
  });
  MetricValues values = scores.values();
  if (mind) {
    mind->finish();
    for (const char* key : {"mse", "psnr", "ssim", "lpips"}) {
      values.erase(key);
      values.erase(std::string(key) + "_20");
    }
    values.merge(mind_values(mind_[clip], mind->path(), setup_.mind,
                             networks_.alex ? &*networks_.alex : nullptr));
  }
  if (video) video->finish();
  if (cost.chunks > 0) {
    values["chunk_seconds"] = {cost.seconds / static_cast<double>(cost.chunks)};
    values["history_mib"] = {static_cast<double>(cost.history_bytes) / (1 << 20)};
    values["visible"] = {cost.visible};
  }
  if (observer) observer->finish(values);
  part.values[name] = std::move(values);
  part.curves[name] = scores.curves();
  for (PictureRow& row : observer ? observer->pictures() : scores.pictures(name)) {
    // Pictures of all variants at one time form one row.
    const auto same = [&](const PictureRow& other) { return other.title == row.title; };
    const auto found = std::find_if(part.pictures.begin(), part.pictures.end(), same);
    if (found == part.pictures.end()) {
      part.pictures.push_back(std::move(row));
    } else {
      found->cells.push_back(std::move(row.cells.back()));
    }
  }
}

PlotPanel ContinuationSuite::budget_panel(const std::vector<PartResult>& parts,
                                          const std::string& metric,
                                          const std::string& title) const {
  const Summary summary = summarise(*this, parts);
  PlotPanel panel{title, "retained frames", {}, /*from_zero=*/false};
  size_t row = 0;
  for (size_t m = 0; m < setup_.models.size(); ++m) {
    const size_t first = panel.series.size();
    for (size_t a = 0; a < setup_.arms.size(); ++a) {
      if (!applies(m, a)) continue;
      const std::string name = setup_.models[m].name + setup_.arms[a].variation;
      auto series = std::find_if(panel.series.begin() + static_cast<std::ptrdiff_t>(first),
                                 panel.series.end(),
                                 [&](const PlotSeries& other) { return other.name == name; });
      if (series == panel.series.end()) {
        panel.series.push_back({name, {}});
        series = panel.series.end() - 1;
      }
      const VariantSummary& values = summary.variants[row++];
      const auto found = values.metrics.find(metric);
      if (found == values.metrics.end()) continue;
      series->points.emplace_back(static_cast<double>(setup_.arms[a].budget.value()),
                                  found->second.mean);
      series->intervals.emplace_back(found->second.low, found->second.high);
    }
  }
  return panel;
}

std::vector<std::vector<PlotPanel>> ContinuationSuite::plots(
    const std::vector<PartResult>& parts) const {
  if (setup_.sweep) {
    return {{budget_panel(parts, "psnr_revisit", "PSNR at revisits, dB"),
             budget_panel(parts, "psnr", "PSNR over the clip, dB")}};
  }
  return {{mean_curves(*this, parts, "psnr", "PSNR, dB", "seconds since the context")}};
}

}  // namespace loci::eval
