// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/analysis/capacity_suite.h"

#include <algorithm>
#include <array>
#include <limits>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "loci/base/choice.h"
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/interrupt.h"
#include "loci/base/log.h"
#include "loci/camera/path/resample.h"
#include "loci/eval/analysis/state_bank.h"
#include "loci/eval/metrics/image_metrics.h"
#include "loci/eval/suites/continuation_scores.h"
#include "loci/eval/suites/eval_models.h"
#include "loci/eval/suites/revisit_gaps.h"
#include "loci/memory/recurrent/key_spread.h"

namespace loci::eval {

namespace {

constexpr int64_t kTokenPixels = 16;
constexpr int64_t kReduction = 4;  // of the pictures
constexpr int64_t kLatents = 20;   // that are encoded at a time
constexpr const char* kMean = "mean-colour";
constexpr const char* kNearest = "nearest-frame";
constexpr const char* kLeastSquares = "least-squares";
constexpr const char* kPaper = "chunk_kda";

// Tokens of frames [n, H, W, 3]: pictures of a quarter of the size, [n, T, 48] in [0, 1].
at::Tensor token_values(const at::Tensor& frames) {
  constexpr int64_t kSide = kTokenPixels / kReduction;
  const at::Tensor small =
      at::avg_pool2d(frames.permute({0, 3, 1, 2}).to(at::kFloat) / 255, kReduction);
  return small.unflatten(3, {-1, kSide})
      .unflatten(2, {-1, kSide})
      .permute({0, 2, 4, 3, 5, 1})  // [n, rows, columns, y, x, colour]
      .flatten(3)
      .flatten(1, 2)
      .contiguous();
}

}  // namespace

// A recording as tokens. Batches of consecutive latents share a geometry.
struct CapacitySuite::Walk {
  struct Batch {
    camera::FrameGeometry geometry;
    at::Tensor values;  // [N, 48]
  };
  const EvalClip* clip = nullptr;
  std::vector<camera::Camera> cameras;  // of the latents, relative to the first
  at::Tensor values;                    // [latents, T, 48]
  int64_t written = 0;                  // latents of the context
  at::Tensor mean;                      // [48], of the context
  std::vector<Batch> context;
  std::vector<camera::Revisit> revisits;  // whose first visit lies in the context
  std::vector<int64_t> return_latents;    // of the revisits
  std::vector<Batch> returns;

  Walk(const EvalClips& clips, size_t index) : clip(&clips.clip(index)) {
    const camera::TimeGrid& grid = clips.format().grid;
    const camera::TokenGrid tokens{clips.format().height / kTokenPixels,
                                   clips.format().width / kTokenPixels};
    cameras = camera::relative_to_first(camera::latent_cameras(clip->trajectory.cameras, grid));
    const auto latents = std::ssize(cameras);
    std::vector<at::Tensor> parts;
    for (int64_t first = 0; first < latents; first += kLatents) {
      check_interrupt();
      const int64_t count = std::min(kLatents, latents - first);
      const int64_t begin = grid.camera_frame(first), end = grid.camera_frame(first + count - 1);
      const at::Tensor frames = clips.read(index, begin, end + 1 - begin);
      parts.push_back(token_values(frames.slice(0, 0, c10::nullopt, grid.frames_per_latent)));
    }
    values = at::cat(parts);
    written = grid.latents_in_frames(clip->context_frames);
    mean = values.narrow(0, 0, written).mean({0, 1});
    std::vector<int64_t> order;
    for (int64_t i = 0; i < written; ++i) order.push_back(i);
    context = batches(order, tokens);
    for (const camera::Revisit& revisit : clip->revisits) {
      if (revisit.earlier >= clip->context_frames) continue;
      revisits.push_back(revisit);
      return_latents.push_back(grid.latent_of_frame(revisit.frame));
    }
    returns = batches(return_latents, tokens);
  }

  std::vector<Batch> batches(const std::vector<int64_t>& latents,
                             const camera::TokenGrid& tokens) const {
    constexpr std::array<int64_t, 1> kStart = {0};
    const double scale = model::TransformerConfig().kda_translation_scale;
    std::vector<Batch> list;
    for (size_t first = 0; first < latents.size(); first += kLatents) {
      const size_t last = std::min(latents.size(), first + kLatents);
      std::vector<camera::Camera> own;
      std::vector<at::Tensor> pictures;
      for (size_t i = first; i < last; ++i) {
        own.push_back(cameras[static_cast<size_t>(latents[i])]);
        pictures.push_back(values[latents[i]]);
      }
      list.push_back({camera::frame_geometry(own, kStart, tokens, scale), at::cat(pictures)});
    }
    return list;
  }

  // Compares read values [N, 48] of all returns with the recording.
  MetricValues score(const at::Tensor& read) const {
    const at::Tensor got = read.clamp(0, 1).unflatten(0, {std::ssize(revisits), -1});
    MetricValues result;
    for (size_t i = 0; i < revisits.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      const at::Tensor error = got[row] - values[return_latents[i]];
      const double psnr = std::min(kIdenticalPsnr, psnr_of(error.square().mean().item<double>()));
      result["psnr_revisit"].push_back(psnr);
      result[std::string("psnr") + gap_suffix(revisits[i].gap)].push_back(psnr);
    }
    return result;
  }

  // The picture of the recorded frame with the smallest rotation among those at the same place.
  at::Tensor nearest(size_t revisit) const {
    const camera::Pose& pose = cameras[static_cast<size_t>(return_latents[revisit])].pose;
    const camera::RevisitRule rule;
    int64_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < written; ++i) {
      const camera::Pose& other = cameras[static_cast<size_t>(i)].pose;
      if (camera::norm(other.position - pose.position) > rule.distance) continue;
      const double angle = camera::angle_between(other.rotation, pose.rotation);
      if (angle >= least) continue;
      least = angle;
      best = i;
    }
    return values[best];
  }
};

std::vector<std::string> capacity_names() {
  std::vector<std::string> names = {kMean, kNearest, kLeastSquares};
  for (const StateEncoding& encoding : state_encodings(1)) names.push_back(encoding.name);
  return names;
}

CapacitySuite::CapacitySuite(CapacitySetup setup) : setup_(std::move(setup)) {
  const std::vector<std::string> names = capacity_names();
  for (const std::string& name : setup_.encodings) {
    if (std::ranges::find(names, name) == names.end()) fail_choice("encoding", name, names);
  }
  for (StateEncoding& encoding : state_encodings(setup_.states)) {
    if (chosen(encoding.name)) encodings_.push_back(std::move(encoding));
  }
  if (setup_.config) {
    encodings_.push_back(model_encoding(model::TransformerConfig::load(*setup_.config),
                                        setup_.config->string(), setup_.states));
  }
  ClipFormat format;
  format.width = setup_.width;
  format.height = setup_.height;
  clips_ = open_recordings(setup_.data, format, setup_.clips);
}

bool CapacitySuite::chosen(const std::string& name) const {
  return std::ranges::find(setup_.encodings, name) != setup_.encodings.end();
}

std::string CapacitySuite::variant(const StateEncoding& encoding, double beta) const {
  return setup_.betas.size() == 1 ? encoding.name : fmt::format("{}, β {:g}", encoding.name, beta);
}

Json CapacitySuite::settings() const {
  Json json;
  json["suite"] = "capacity";
  json["data"] = data_fingerprint(setup_.data, setup_.out);
  json["context_seconds"] = setup_.clips.context_seconds;
  json["seconds"] = setup_.clips.seconds ? Json(*setup_.clips.seconds) : Json();
  json["size"] = {setup_.width, setup_.height};
  json["encodings"] = setup_.encodings;
  json["config"] =
      setup_.config ? model::TransformerConfig::load(*setup_.config).to_json() : Json();
  json["betas"] = setup_.betas;
  json["states"] = setup_.states;
  json["seed"] = setup_.seed;
  json["clips"] = clips();
  return json;
}

std::vector<VariantGroup> CapacitySuite::groups() const {
  VariantGroup group{"states", {}};
  for (const char* name : {kMean, kNearest, kLeastSquares}) {
    if (chosen(name)) group.variants.emplace_back(name);
  }
  for (const StateEncoding& encoding : encodings_) {
    for (const double beta : setup_.betas) group.variants.push_back(variant(encoding, beta));
  }
  return {group};
}

std::vector<Metric> CapacitySuite::metrics() const {
  using Better = Metric::Better;
  std::vector<Metric> list = {{"psnr_revisit", "PSNR at revisits", Better::kHigher, 2}};
  for (const RevisitGap& gap : kRevisitGaps) {
    list.push_back(
        {std::string("psnr") + gap.suffix, std::string("PSNR") + gap.words, Better::kHigher, 2});
  }
  list.push_back({"directions", "directions of the keys", Better::kNeither, 1});
  return list;
}

std::vector<std::pair<std::string, std::string>> CapacitySuite::pairs() const {
  std::vector<std::pair<std::string, std::string>> list;
  if (!chosen(kPaper)) return list;
  for (const double beta : setup_.betas) {
    for (const StateEncoding& encoding : encodings_) {
      if (encoding.name == kPaper) continue;
      list.emplace_back(variant(encoding, beta), variant(encodings_.front(), beta));
    }
  }
  return list;
}

void CapacitySuite::measure_references(const Walk& walk, PartResult& result) const {
  const int64_t tokens = walk.values.size(1), count = std::ssize(walk.revisits);
  if (chosen(kMean)) result.values[kMean] = walk.score(walk.mean.expand({count * tokens, -1}));
  if (chosen(kNearest)) {
    std::vector<at::Tensor> copies;
    for (size_t i = 0; i < walk.revisits.size(); ++i) copies.push_back(walk.nearest(i));
    result.values[kNearest] = walk.score(at::cat(copies));
  }
  if (!chosen(kLeastSquares)) return;
  const std::vector<StateEncoding> all = state_encodings(setup_.states);
  const auto fourier = std::ranges::find(all, "fourier", &StateEncoding::name);
  FeatureFit features(*fourier, setup_.states, walk.mean);
  for (const Walk::Batch& batch : walk.context) features.add(batch.geometry, batch.values);
  features.fit();
  std::vector<at::Tensor> reads;
  for (const Walk::Batch& batch : walk.returns) reads.push_back(features.read(batch.geometry));
  result.values[kLeastSquares] = walk.score(at::cat(reads));
}

void CapacitySuite::measure_states(const Walk& walk, const StateEncoding& encoding,
                                   PartResult& result) const {
  const at::Tensor content = key_content(encoding, setup_.states, setup_.seed);
  std::vector<StateBank> banks;
  for (const double beta : setup_.betas) {
    banks.emplace_back(encoding, setup_.states, beta, walk.mean);
  }
  at::Tensor moments;
  for (const Walk::Batch& batch : walk.context) {
    check_interrupt();
    const EncodedTokens tokens = encode_tokens(encoding, content, batch.geometry);
    const at::Tensor own = memory::key_moments(tokens.key);
    moments = moments.defined() ? moments + own : own;
    for (StateBank& bank : banks) bank.write(tokens, batch.values);
  }
  for (const Walk::Batch& batch : walk.context) {
    const EncodedTokens tokens = encode_tokens(encoding, content, batch.geometry);
    for (StateBank& bank : banks) bank.add_to_fit(tokens, batch.values);
  }
  std::vector<std::vector<at::Tensor>> reads(banks.size());
  for (StateBank& bank : banks) bank.fit();
  for (const Walk::Batch& batch : walk.returns) {
    const EncodedTokens tokens = encode_tokens(encoding, content, batch.geometry);
    for (size_t i = 0; i < banks.size(); ++i) reads[i].push_back(banks[i].read(tokens));
  }
  for (size_t i = 0; i < banks.size(); ++i) {
    MetricValues& values = result.values[variant(encoding, setup_.betas[i])];
    values = walk.score(at::cat(reads[i]));
    values["directions"] = {memory::key_directions(moments)};
  }
}

PartResult CapacitySuite::run(size_t clip) {
  check_usable(*clips_, clip);
  const at::NoGradGuard no_grad;
  const Walk walk(*clips_, clip);
  PartResult result;
  if (walk.revisits.empty()) {
    log_warning("{}: the continuation has no return to the context; the clip is not measured",
                walk.clip->name);
    return result;
  }
  measure_references(walk, result);
  for (const StateEncoding& encoding : encodings_) measure_states(walk, encoding, result);
  return result;
}

void CapacitySuite::conclude(std::vector<PartResult>&) {
  write_file(setup_.out / "similarity.svg", svg_plot({similarity_over_angle()}));
}

std::vector<std::vector<PlotPanel>> CapacitySuite::plots(const std::vector<PartResult>&) const {
  return {{similarity_over_angle()}};
}

std::vector<std::string> CapacitySuite::notes() const {
  std::vector<std::string> list = {
      fmt::format(
          "{} states of {} channels, read together; the weights of the states are fitted on the "
          "context. The delta rule writes every token of the context once, in order, with the "
          "given β and without forgetting. Values are the tokens' pictures at a quarter of the "
          "size (48 numbers). The content of queries and keys is one constant vector per state, "
          "so that only the encoding distinguishes tokens. PSNR is measured at a quarter of the "
          "size, at returns whose first visit lies in the context.",
          setup_.states, model::kHeadChannels),
      "Directions: participation ratio of the keys, mean over states.",
      fmt::format("{}: the mean of every number over the context. {}: the recorded frame at the "
                  "same place with the smallest rotation, copied. {}: one state of {} Fourier "
                  "features, fitted to the whole context at once.",
                  kMean, kNearest, kLeastSquares, setup_.states * model::kHeadChannels)};
  for (const StateEncoding& encoding : encodings_) {
    list.push_back(encoding.name + ": " + encoding.description + ".");
  }
  return list;
}

}  // namespace loci::eval
