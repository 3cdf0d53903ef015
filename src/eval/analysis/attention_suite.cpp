// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/analysis/attention_suite.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/error.h"
#include "loci/camera/path/resample.h"
#include "loci/eval/metrics/masked_error.h"
#include "loci/eval/suites/continuation.h"

namespace loci::eval {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kMinAge = 8;        // seconds; the shortest gap of a revisit
constexpr double kMinRegion = 0.01;  // share of a frame; errors of smaller regions are ignored
constexpr std::pair<const char*, const char*> kTertiles[] = {
    {"_low", ", lowest third of enrichment"},
    {"_mid", ", middle third"},
    {"_high", ", highest third"}};

bool contains(const std::vector<int64_t>& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

std::vector<int64_t> instants_of(const EvalClip& clip, const camera::TimeGrid& grid) {
  std::vector<int64_t> latents;
  for (const camera::Revisit& revisit : clip.revisits) {
    latents.push_back(grid.latent_of_frame(revisit.frame));
  }
  return latents;
}

}  // namespace

AttentionSuite::AttentionSuite(AttentionSetup setup)
    : ModelSuite(setup.models, setup.arms, setup.sampling.dtype),
      setup_(std::move(setup)),
      networks_(Networks::load(setup_.weights)) {
  LOCI_CHECK(!setup_.arms.empty() && !setup_.readouts.empty(), "no arm or no readout");
  const ClipFormat format = common_format(setup_.models, setup_.sampling);
  int64_t depth = 0;
  for (const ModelChoice& model : setup_.models) {
    const sample::ModelFolder opened(model.path);
    const model::TransformerConfig& config = opened.config();
    if (depth != 0 && config.layers != depth) {
      fail("{} has {} layers, but {} has {}; attention is compared by layer", model.name,
           config.layers, setup_.models.front().name, depth);
    }
    depth = config.layers;
    std::vector<int64_t>& hybrid = hybrid_.emplace_back();
    for (int64_t layer = 0; layer < depth; ++layer) {
      if (config.is_hybrid(layer)) hybrid.push_back(layer);
    }
  }
  const auto anywhere = [&](int64_t layer) {
    return std::any_of(hybrid_.begin(), hybrid_.end(),
                       [&](const std::vector<int64_t>& list) { return contains(list, layer); });
  };
  bool after_any = false;
  for (int64_t layer = 0; layer < depth; ++layer) {
    if (anywhere(layer)) {
      after_any = true;
      continue;
    }
    layers_.common.push_back(layer);
    if (after_any) layers_.downstream.push_back(layer);
    if (layer > 0 && anywhere(layer - 1)) layers_.after.push_back(layer);
  }
  if (layers_.common.empty())
    fail("--model: the models have no common layer that attends to its history");
  clips_ = open_data(setup_.data, format, free_token(setup_.models, setup_.sampling), setup_.clips)
               .clips;
  size_t instants = 0;
  for (size_t i = 0; i < clips_->size(); ++i) {
    instants += clips_->clip(i).revisits.size();
    if (!clips_->has_depth(i)) ++without_depth_;
  }
  warn_of_captions(setup_.models, setup_.sampling, *clips_);
  if (instants == 0) {
    fail(
        "{}: no recording contains a revisit; attention is measured at revisits (loci world record "
        "--revisits)",
        setup_.data.string());
  }
}

std::string AttentionSuite::name_of(size_t model, size_t arm, model::Readout readout) const {
  return variant_name(setup_.models[model], setup_.arms[arm], setup_.arms) + suffix_of(readout);
}

std::vector<model::Readout> AttentionSuite::readouts_of(size_t model) const {
  return hybrid_[model].empty() ? std::vector{model::Readout::kOn} : setup_.readouts;
}

std::vector<VariantGroup> AttentionSuite::groups() const {
  std::vector<VariantGroup> groups;
  for (size_t m = 0; m < setup_.models.size(); ++m) {
    VariantGroup& group = groups.emplace_back();
    group.name = setup_.models[m].name;
    for (size_t a = 0; a < setup_.arms.size(); ++a) {
      for (const model::Readout readout : readouts_of(m)) {
        group.variants.push_back(name_of(m, a, readout));
      }
    }
  }
  return groups;
}

std::vector<std::pair<std::string, std::string>> AttentionSuite::pairs() const {
  std::vector<std::pair<std::string, std::string>> list;
  for (size_t a = 0; a < setup_.arms.size(); ++a) {
    const std::string first = name_of(0, a, readouts_of(0).front());
    for (size_t m = 1; m < setup_.models.size(); ++m) {
      list.emplace_back(first, name_of(m, a, readouts_of(m).front()));
    }
    for (size_t m = 0; m < setup_.models.size(); ++m) {
      const std::vector<model::Readout> readouts = readouts_of(m);
      for (size_t r = 1; r < readouts.size(); ++r) {
        list.emplace_back(name_of(m, a, readouts.front()), name_of(m, a, readouts[r]));
      }
    }
  }
  return list;
}

Json AttentionSuite::settings() const {
  Json json = describe(setup_.models, setup_.arms, setup_.sampling);
  json["suite"] = "attention";
  json["data"] = data_fingerprint(setup_.data, setup_.out);
  json["timestep"] = setup_.timestep;
  json["context_seconds"] = setup_.clips.context_seconds;
  json["seconds"] = setup_.clips.seconds ? Json(*setup_.clips.seconds) : Json();
  json["rollouts"] = setup_.rollouts;
  json["networks"] = networks_.describe();
  for (const model::Readout readout : setup_.readouts) {
    json["readouts"].push_back(sample::name_of(readout));
  }
  json["layers"] = layers_.common;
  json["clips"] = clips();
  return json;
}

std::vector<Metric> AttentionSuite::metrics() const {
  using Better = Metric::Better;
  std::vector<Metric> list = {
      {"share", "co-visible attention, %", Better::kHigher, 2},
      {"fraction", "co-visible keys, %", Better::kNeither, 2},
      {"enrichment", "enrichment", Better::kHigher, 3},
      {"enrichment_downstream", "enrichment, after the first hybrid block", Better::kHigher, 3},
      {"enrichment_after", "enrichment, directly after hybrid blocks", Better::kHigher, 3},
      {"mass", "attention to history, %", Better::kNeither, 1},
      {"excluded", "queries without attention to history", Better::kNeither, 1},
      {"share_proxy", "co-visible attention, % (rays, no depth)", Better::kHigher, 2},
      {"fraction_proxy", "co-visible keys, % (rays)", Better::kNeither, 2},
      {"enrichment_proxy", "enrichment (rays)", Better::kHigher, 3}};
  if (!setup_.rollouts) return list;
  const std::string absent =
      networks_.alex ? "" : absent_note("LPIPS (AlexNet); scripts/fetch_lpips.py downloads it");
  list.push_back({"region", "seen region, % of the frame", Better::kNeither, 1});
  list.push_back({"masked_psnr", "PSNR in the seen region", Better::kHigher, 2});
  list.push_back({"masked_lpips", "LPIPS in the seen region", Better::kLower, 3, absent});
  for (const auto& [suffix, words] : kTertiles) {
    const std::string key = suffix, title = words;
    list.push_back({"masked_psnr" + key, "PSNR in the seen region" + title, Better::kHigher, 2});
    list.push_back(
        {"masked_lpips" + key, "LPIPS in the seen region" + title, Better::kLower, 3, absent});
  }
  return list;
}

std::vector<std::string> AttentionSuite::notes() const {
  std::vector<std::string> notes = {
      fmt::format(
          "Recordings are replayed unchanged. Attention is measured at every latent frame that is "
          "a revisit, with its chunk noised to t = {:g}. Weights are averaged over heads. "
          "Co-visible attention is the share of the attention to the history that goes to tokens "
          "that show the same surface; enrichment divides it by the share of such tokens in the "
          "history. There is one value per revisit: the mean over its tokens and layers {}.",
          setup_.timestep, fmt::join(layers_.common, ", ")),
      "Readout off and random readout apply to the measured pass only, not to the replayed "
      "history, so that queries differ and past keys do not."};
  if (!layers_.downstream.empty()) {
    notes.push_back(
        fmt::format("After the first hybrid block: layers {}; directly after a hybrid block: {}.",
                    fmt::join(layers_.downstream, ", "), fmt::join(layers_.after, ", ")));
  }
  if (without_depth_ > 0) {
    notes.push_back(
        fmt::format("{} of {} recordings have no depth; they appear in the columns marked rays.",
                    without_depth_, clips_->size()));
  }
  if (setup_.rollouts) {
    notes.push_back(
        "The seen region of a revisit contains the pixels whose surface the recording showed 8 s "
        "or more before. Errors are those of the model's own rollout. Thirds divide the revisits "
        "by the enrichment of the first row.");
  }
  add_caption_note(setup_.models, setup_.sampling, *clips_, notes);
  return notes;
}

MetricValues AttentionSuite::values_of(const LayerShares& shares, size_t instants,
                                       bool depth) const {
  MetricValues values;
  const std::string proxy = depth ? "" : "_proxy";
  const auto enrichment = [&](const std::vector<int64_t>& layers, size_t instant) {
    double share = 0, fraction = 0;
    for (const int64_t layer : layers) {
      const AttentionShare& one = shares.at(layer)[instant];
      share += one.share;
      fraction += one.fraction;
    }
    return fraction > 0 ? share / fraction : kNone;
  };
  for (size_t i = 0; i < instants; ++i) {
    double share = 0, fraction = 0, mass = 0, excluded = 0;
    bool any = false;
    const auto layers = static_cast<double>(layers_.common.size());
    for (const int64_t layer : layers_.common) {
      const AttentionShare& one = shares.at(layer)[i];
      any = any || one.queries > 0;
      share += 100 * one.share / layers;
      fraction += 100 * one.fraction / layers;
      mass += 100 * one.mass / layers;
      excluded += static_cast<double>(one.excluded) / layers;
    }
    values["share" + proxy].push_back(any ? share : kNone);
    values["fraction" + proxy].push_back(any ? fraction : kNone);
    values["enrichment" + proxy].push_back(enrichment(layers_.common, i));
    values["mass"].push_back(any ? mass : kNone);
    values["excluded"].push_back(excluded);
    if (!depth) continue;
    values["enrichment_downstream"].push_back(enrichment(layers_.downstream, i));
    values["enrichment_after"].push_back(enrichment(layers_.after, i));
  }
  return values;
}

PartResult AttentionSuite::run(size_t clip) {
  check_usable(*clips_, clip);
  const at::NoGradGuard no_grad;
  const EvalClip& recording = clips_->clip(clip);
  const ClipFormat& format = clips_->format();
  PartResult part;
  if (recording.revisits.empty()) return part;
  const std::vector<camera::Camera> cameras =
      camera::latent_cameras(recording.trajectory.cameras, format.grid);
  const at::Tensor depth = clips_->depth(clip);
  std::vector<DepthFrame> views;
  for (size_t i = 0; i < cameras.size(); ++i) {
    views.push_back({cameras[i], depth.defined() ? depth[static_cast<int64_t>(i)] : at::Tensor()});
  }
  const std::vector<int64_t> instants = instants_of(recording, format.grid);
  const at::Tensor latents =
      encoded_frames(folder().vae(), *clips_, clip, recording.frames(), setup_.sampling.cache);
  const auto [height, width] = folder().latent_size(format.height, format.width);
  const camera::TokenGrid grid = folder().config().grid(height, width);
  ReplayOptions options{setup_.timestep, setup_.sampling.seed(), readouts_of(opened())};
  for (size_t a = 0; a < setup_.arms.size(); ++a) {
    sample::Stream stream(
        folder().transformer(), nullptr,
        stream_options(folder(), setup_.arms[a], setup_.sampling, format.width, format.height),
        prompt_for(folder(), recording.caption, setup_.sampling));
    const std::vector<LayerShares> shares =
        replay_attention(stream, latents, views, instants, grid, options);
    for (size_t r = 0; r < shares.size(); ++r) {
      const std::string name = name_of(opened(), a, options.readouts[r]);
      part.values[name] = values_of(shares[r], instants.size(), depth.defined());
      Curve enrichment{"enrichment", {}}, mass{"mass", {}};
      for (const auto& [layer, list] : shares[r]) {
        double sum = 0, history = 0, count = 0;
        for (const AttentionShare& one : list) {
          history += 100 * one.mass / static_cast<double>(list.size());
          if (!(one.fraction > 0)) continue;
          sum += one.enrichment();
          ++count;
        }
        if (count > 0) enrichment.points.emplace_back(static_cast<double>(layer), sum / count);
        mass.points.emplace_back(static_cast<double>(layer), history);
      }
      part.curves[name] = {enrichment, mass};
    }
  }
  if (setup_.rollouts && depth.defined()) roll_out(clip, views, part);
  return part;
}

void AttentionSuite::roll_out(size_t clip, const std::vector<DepthFrame>& views,
                              PartResult& part) const {
  const EvalClip& recording = clips_->clip(clip);
  const ClipFormat& format = clips_->format();
  std::vector<at::Tensor> masks;  // bool [H, W]
  for (const camera::Revisit& revisit : recording.revisits) {
    const auto latent = static_cast<size_t>(format.grid.latent_of_frame(revisit.frame));
    const double old = static_cast<double>(revisit.frame) - kMinAge * recording.clock;
    const auto known = static_cast<size_t>(
        std::max(0.0, std::floor(old / static_cast<double>(format.grid.frames_per_latent)) + 1));
    masks.push_back(seen_before(views[latent], std::span(views).first(std::min(known, latent))));
  }
  const Continuation continuation(folder(), *clips_, clip, setup_.sampling);
  for (size_t a = 0; a < setup_.arms.size(); ++a) {
    const std::string name = name_of(opened(), a, readouts_of(opened()).front());
    Arm arm = setup_.arms[a];
    arm.readout = readouts_of(opened()).front();
    MetricValues& values = part.values[name];
    size_t next = 0;
    continuation.run(arm, [&](int64_t first, const at::Tensor& frames) {
      for (; next < masks.size(); ++next) {
        const camera::Revisit& revisit = recording.revisits[next];
        if (revisit.frame >= first + frames.size(0)) break;
        const at::Tensor generated = frames.narrow(0, revisit.frame - first, 1);
        const at::Tensor truth = clips_->read(clip, revisit.frame, 1);
        const MaskedError error = masked_error(generated, truth, masks[next],
                                               networks_.alex ? &*networks_.alex : nullptr);
        values["region"].push_back(100 * error.region);
        values["masked_psnr"].push_back(error.region >= kMinRegion ? error.psnr : kNone);
        if (networks_.alex) {
          values["masked_lpips"].push_back(error.region >= kMinRegion ? error.lpips : kNone);
        }
        if (next > 0) continue;
        const at::Tensor region = masks[next].unsqueeze(-1);
        PictureRow row{
            fmt::format("{:.2f} s, first visit {:.1f} s before",
                        static_cast<double>(revisit.frame) / recording.clock, revisit.gap),
            {}};
        row.cells.push_back(
            make_cell("first visit, recorded", clips_->read(clip, revisit.earlier, 1)[0]));
        row.cells.push_back(make_cell("recording (dark: not in the seen region)",
                                      at::where(region, truth[0], truth[0].div(4, "floor"))));
        row.cells.push_back(
            make_cell(fmt::format("{}: {:.1f} dB", name, error.psnr), generated[0]));
        if (a == 0) {
          part.pictures.push_back(std::move(row));
        } else {
          part.pictures.front().cells.push_back(std::move(row.cells.back()));
        }
      }
    });
  }
}

void AttentionSuite::conclude(std::vector<PartResult>& parts) {
  const std::string reference = name_of(0, 0, readouts_of(0).front());
  std::map<std::string, std::vector<double>> by_clip;
  std::vector<double> all;
  for (const PartResult& part : parts) {
    const auto found = part.values.find(reference);
    if (found == part.values.end() || !found->second.contains("enrichment")) continue;
    by_clip[part.clip] = found->second.at("enrichment");
    for (const double value : by_clip[part.clip]) {
      if (std::isfinite(value)) all.push_back(value);
    }
  }
  if (all.size() < std::size(kTertiles)) return;
  std::sort(all.begin(), all.end());
  const double low = all[all.size() / 3], high = all[2 * all.size() / 3];
  for (PartResult& part : parts) {
    const auto found = by_clip.find(part.clip);
    if (found == by_clip.end()) continue;
    for (auto& [variant, values] : part.values) {
      for (const char* key : {"masked_psnr", "masked_lpips"}) {
        const auto errors = values.find(key);
        if (errors == values.end()) continue;
        const std::vector<double> list = errors->second;
        for (size_t i = 0; i < std::min(list.size(), found->second.size()); ++i) {
          const double at = found->second[i];
          if (!std::isfinite(at)) continue;
          const size_t third = at < low ? 0 : at < high ? 1 : 2;
          values[std::string(key) + kTertiles[third].first].push_back(list[i]);
        }
      }
    }
  }
}

std::vector<std::vector<PlotPanel>> AttentionSuite::plots(
    const std::vector<PartResult>& parts) const {
  return {{mean_curves(*this, parts, "enrichment", "enrichment by layer", "layer"),
           mean_curves(*this, parts, "mass", "attention to history by layer, %", "layer")}};
}

}  // namespace loci::eval
