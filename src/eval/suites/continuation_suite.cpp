// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/suites/continuation_suite.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/base/output_path.h"
#include "loci/eval/report/summary.h"
#include "loci/eval/suites/prediction_video.h"
#include "loci/eval/suites/runner.h"
#include "loci/io/tensors/safetensors.h"

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
    : ModelSuite(setup.models, setup.arms, setup.sampling.dtype, setup.predictions),
      setup_(std::move(setup)),
      networks_(Networks::load(setup_.weights)) {
  ClipFormat format = format_of(setup_.models, setup_.predictions, setup_.sampling);
  // The rate of MIND's predictions is that of the recordings, not that of the clips.
  if (setup_.models.empty() && is_mind(setup_.data)) format.fps = ClipFormat().fps;
  for (const ModelChoice& model : setup_.models) {
    recurrent_.push_back(has_recurrent_states(sample::ModelFolder(model.path).config()));
  }
  EvalData data =
      open_data(setup_.data, format, free_token(setup_.models, setup_.sampling), setup_.clips);
  mind_ = std::move(data.mind);
  clips_ = std::move(data.clips);
  check_predictions(setup_.predictions, *clips_);
  warn_of_captions(setup_.models, setup_.sampling, *clips_);
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
  std::vector<VariantGroup> groups = ModelSuite::groups();
  for (size_t m = 0; m < setup_.models.size(); ++m) {
    VariantGroup& group = groups[m];
    group.variants.clear();
    for (size_t a = 0; a < setup_.arms.size(); ++a) {
      if (applies(m, a)) group.variants.push_back(name_of(m, a));
    }
    if (setup_.autoencoder) group.variants.push_back(reconstruction_name(m));
  }
  return groups;
}

Json ContinuationSuite::settings() const {
  Json json = describe(setup_.models, setup_.arms, setup_.sampling);
  json["suite"] = setup_.suite;
  json["data"] = data_fingerprint(setup_.data, setup_.out);
  json["context_seconds"] = setup_.clips.context_seconds;
  json["seconds"] = setup_.clips.seconds ? Json(*setup_.clips.seconds) : Json();
  const bool mind = !mind_.empty();
  if (setup_.clips.stride || mind) json["stride"] = setup_.clips.stride.value_or(kMindStride);
  const Clock clock = setup_.clips.clock.value_or(mind ? Clock::kRecorded : Clock::kGenerated);
  json["clock"] = clock == Clock::kRecorded ? "recorded" : "generated";
  if (setup_.clips.fov || mind) json["fov"] = setup_.clips.fov.value_or(kMindFov);
  if (mind) {
    json["views"] = setup_.clips.views;
    json["frame_size"] = {clips_->format().width, clips_->format().height};
    json["mind_compat"] = setup_.mind.compatible;
    json["ssim_border"] = setup_.mind.border == SsimBorder::kCropped ? "cropped" : "mirrored";
  }
  describe_predictions(setup_.predictions, json);
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
  check_usable(*clips_, clip);
  PartResult part;
  if (const ModelChoice* tree = prediction()) {
    const std::filesystem::path video = prediction_file(tree->path, *clips_, clip);
    if (!std::filesystem::exists(video)) fail("{}: the prediction is missing", video.string());
    measure(clip, tree->name, {[&](const Continuation::FrameSink& take) {
              if (mind_.empty()) {
                replay_prediction(video, *clips_, clip, take);
              } else {
                replay_mind_prediction(video, *clips_, clip,
                                       setup_.clips.stride.value_or(kMindStride), take);
              }
              return ContinuationCost{};
            }},
            part);
    if (!mind_.empty()) score_mind(clip, video, part.values[tree->name]);
    return part;
  }
  const Continuation continuation(folder(), *clips_, clip, setup_.sampling);
  for (size_t a = 0; a < setup_.arms.size(); ++a) {
    if (!applies(opened(), a)) continue;
    std::vector<Produce> runs;
    for (const Arm& arm : with_seeds(setup_.arms[a], setup_.sampling)) {
      runs.emplace_back([&continuation, arm](const Continuation::FrameSink& take) {
        return continuation.run(arm, take);
      });
    }
    measure(clip, variant(setup_.arms[a]), runs, part);
  }
  if (setup_.autoencoder) {
    measure(clip, reconstruction_name(opened()), {[&](const Continuation::FrameSink& take) {
              continuation.reconstruct(take);
              return ContinuationCost{};
            }},
            part);
  }
  return part;
}

void ContinuationSuite::measure(size_t clip, const std::string& name,
                                const std::vector<Produce>& runs, PartResult& part) {
  std::vector<MetricValues> values;
  std::vector<std::vector<Curve>> curves;
  std::map<int64_t, at::Tensor> maps;
  for (size_t i = 0; i < runs.size(); ++i) {
    const std::string video =
        i == 0 ? name : fmt::format("{}, seed {}", name, setup_.sampling.seeds[i]);
    Measured measured = measure_run(clip, name, video, runs[i]);
    values.push_back(std::move(measured.values));
    curves.push_back(std::move(measured.curves));
    for (auto& [frame, errors] : measured.patch_maps) {
      const at::Tensor share = errors / static_cast<double>(runs.size());
      const auto [place, first] = maps.try_emplace(frame, share);
      if (!first) place->second = place->second + share;
    }
    if (i > 0) continue;
    for (PictureRow& row : measured.pictures) {
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
  part.values[name] = mean_of(values);
  part.curves[name] = mean_of(curves);
  if (maps.empty()) return;
  std::vector<int64_t> frames;
  std::vector<at::Tensor> errors;
  for (const auto& [frame, map] : maps) {
    frames.push_back(frame);
    errors.push_back(map.to(at::kFloat));
  }
  const std::filesystem::path file = patches_file(name, clips_->clip(clip).name);
  make_folders(file.parent_path());
  io::write_safetensors(file, {{"frames", at::tensor(frames, at::kLong)},
                               {"errors", at::stack(errors).to(at::kHalf)}});
}

ContinuationSuite::Measured ContinuationSuite::measure_run(size_t clip, const std::string& name,
                                                           const std::string& video_name,
                                                           const Produce& produce) {
  ContinuationScores scores(*clips_, clip, networks_);
  const std::unique_ptr<ContinuationObserver> observer = observe(clip, name);
  const std::filesystem::path folder = setup_.out / "predictions" / video_name;
  const bool generated = prediction() == nullptr;
  std::optional<MindPrediction> mind;
  if (!mind_.empty() && generated) {
    mind.emplace(folder, mind_[clip], clips_->format(), setup_.clips);
  }
  std::optional<PredictionWriter> video;
  if (setup_.videos && generated) video.emplace(folder, *clips_, clip);
  const ContinuationCost cost = produce([&](int64_t first, const at::Tensor& frames) {
    scores.add(first, frames);
    if (observer) observer->add(first, frames);
    if (mind) mind->add(frames);
    if (video) video->add(frames);
  });
  Measured measured;
  measured.values = scores.values();
  measured.curves = scores.curves();
  measured.patch_maps = scores.patch_maps();
  if (mind) {
    mind->finish();
    score_mind(clip, mind->path(), measured.values);
  }
  if (video) video->finish();
  if (cost.chunks > 0) {
    measured.values["chunk_seconds"] = {cost.seconds / static_cast<double>(cost.chunks)};
    measured.values["history_mib"] = {static_cast<double>(cost.history_bytes) / (1 << 20)};
    measured.values["visible"] = {cost.visible};
  }
  if (observer) observer->finish(measured.values);
  measured.pictures = observer ? observer->pictures() : scores.pictures(name);
  return measured;
}

// Replaces the metrics of whole frames by those of the official scorer.
void ContinuationSuite::score_mind(size_t clip, const std::filesystem::path& video,
                                   MetricValues& values) const {
  for (const char* key : {"mse", "psnr", "ssim", "lpips"}) {
    values.erase(key);
    values.erase(std::string(key) + "_20");
  }
  values.merge(
      mind_values(mind_[clip], video, setup_.mind, networks_.alex ? &*networks_.alex : nullptr));
}

std::filesystem::path ContinuationSuite::patches_file(const std::string& variant,
                                                      const std::string& clip) const {
  return setup_.out / "patches" / file_name(variant) / (file_name(clip) + ".safetensors");
}

void ContinuationSuite::conclude(std::vector<PartResult>& parts) {
  for (size_t clip = 0; clip < clips_->size(); ++clip) {
    std::vector<std::map<int64_t, at::Tensor>> maps;
    std::vector<MetricValues*> values;
    for (PartResult& part : parts) {
      if (part.clip != clips_->clip(clip).name) continue;
      for (auto& [variant, list] : part.values) {
        const std::filesystem::path file = patches_file(variant, part.clip);
        if (!std::filesystem::exists(file)) continue;
        const auto stored = io::SafetensorsFile::open(file);
        const at::Tensor frames = stored.tensor("frames"), errors = stored.tensor("errors");
        std::map<int64_t, at::Tensor>& map = maps.emplace_back();
        for (int64_t i = 0; i < frames.numel(); ++i) map[frames[i].item<int64_t>()] = errors[i];
        values.push_back(&list);
      }
    }
    if (maps.size() > 1) add_shared_errors(clips_->clip(clip), maps, values);
  }
}

std::vector<std::string> ContinuationSuite::notes() const {
  std::vector<std::string> notes;
  add_caption_note(setup_.models, setup_.sampling, *clips_, notes);
  if (setup_.sampling.seeds.size() > 1) {
    notes.push_back(fmt::format("Values are means over the seeds {} per clip and instant.",
                                fmt::join(setup_.sampling.seeds, ", ")));
  }
  if (mind_.empty()) return notes;
  if (const std::string note = mind_size_note(clips_->format()); !note.empty()) {
    notes.push_back(note + ".");
  }
  if (setup_.clips.views.size() > 1) {
    notes.emplace_back("Means cover first-person and third-person clips.");
  }
  return notes;
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
