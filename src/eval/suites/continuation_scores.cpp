// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/suites/continuation_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ATen.h>

#include "loci/base/error.h"
#include "loci/eval/metrics/image_metrics.h"
#include "loci/eval/suites/revisit_gaps.h"

namespace loci::eval {

namespace {

constexpr double kFirstPart = 20;  // seconds
constexpr size_t kMaxFeatured = 60;
constexpr double kLocalShare = 0.05;  // of the patches

// The revisit with the longest gap, and one halfway between it and the farther end of the list.
std::vector<camera::Revisit> pick(const EvalClip& clip) {
  if (clip.revisits.empty()) return {{clip.frames() - 1, -1, 0}};
  const auto longest = std::max_element(
      clip.revisits.begin(), clip.revisits.end(),
      [](const camera::Revisit& a, const camera::Revisit& b) { return a.gap < b.gap; });
  const auto at = static_cast<size_t>(longest - clip.revisits.begin());
  const size_t last = clip.revisits.size() - 1;
  const size_t other = at > last / 2 ? at / 2 : (at + last + 1) / 2;
  if (other == at) return {*longest};
  std::vector<camera::Revisit> both = {clip.revisits[std::min(at, other)],
                                       clip.revisits[std::max(at, other)]};
  return both;
}

}  // namespace

ContinuationScores::RevisitScore::RevisitScore() {
  sharpness = lpips_vgg = identity_dino = identity_clip = local_1 = local_5 = local_10 =
      std::numeric_limits<double>::quiet_NaN();
}

ContinuationScores::ContinuationScores(const EvalClips& clips, size_t clip,
                                       const Networks& networks)
    : clips_(&clips),
      index_(clip),
      clip_(&clips.clip(clip)),
      networks_(&networks),
      picked_(pick(*clip_)),
      recorded_(clips, clip) {
  if (!networks.dino && !networks.clip) return;
  for (const size_t i : pick_instants(clip_->revisits, kMaxFeatured)) {
    const camera::Revisit& revisit = clip_->revisits[i];
    featured_.insert(revisit.frame);
    if (revisit.earlier >= clip_->context_frames) first_visits_.insert(revisit.earlier);
  }
}

double ContinuationScores::seconds_of(int64_t frame) const {
  return static_cast<double>(frame) / clip_->clock;
}

void ContinuationScores::keep_features(int64_t index, const at::Tensor& frame) {
  if (networks_->dino) dino_[index] = (*networks_->dino)(frame).global;
  if (networks_->clip) clip_vision_[index] = (*networks_->clip)(frame).global;
}

void ContinuationScores::score_revisit(const camera::Revisit& revisit, const at::Tensor& frame,
                                       const at::Tensor& truth) {
  RevisitScore& score = revisits_[revisit.frame];
  // The ratio is undefined if the recorded frame has no detail.
  const double detail = sharpness(truth).front();
  if (detail > 0) score.sharpness = sharpness(frame).front() / detail;
  if (networks_->vgg) score.lpips_vgg = networks_->vgg->distance(frame, truth).front();
  if (!featured_.contains(revisit.frame)) return;
  // Features of generated first visits exist already; those of recorded ones are computed here.
  if (!dino_.contains(revisit.earlier) && !clip_vision_.contains(revisit.earlier)) {
    keep_features(revisit.earlier, clips_->read(index_, revisit.earlier, 1));
  }
  if (networks_->dino) {
    const VisionTower::Features generated = (*networks_->dino)(frame);
    const VisionTower::Features recorded = (*networks_->dino)(truth);
    score.identity_dino = (generated.global * dino_.at(revisit.earlier)).sum().item<double>();
    const at::Tensor errors = patch_errors(generated.patches, recorded.patches);
    const auto worst = [&](double share) {
      return mean_error(errors, worst_region(errors, share)).front();
    };
    score.local_1 = worst(0.01);
    score.local_5 = worst(kLocalShare);
    score.local_10 = worst(0.10);
    patch_maps_[revisit.frame] = errors.flatten();
  }
  if (networks_->clip) {
    const at::Tensor generated = (*networks_->clip)(frame).global;
    score.identity_clip = (generated * clip_vision_.at(revisit.earlier)).sum().item<double>();
  }
}

void ContinuationScores::add(int64_t first, const at::Tensor& frames) {
  LOCI_CHECK(first == clip_->context_frames + std::ssize(frames_), "frame {}, expected {}", first,
             clip_->context_frames + std::ssize(frames_));
  const at::Tensor truth = recorded_.read(first, frames.size(0));
  const std::vector<double> errors = mse(frames, truth), similarities = ssim(frames, truth);
  std::vector<double> distances(errors.size(), 0);
  if (networks_->alex) distances = networks_->alex->distance(frames, truth);
  for (size_t i = 0; i < errors.size(); ++i) {
    frames_.push_back(
        {errors[i], std::min(psnr_of(errors[i]), kIdenticalPsnr), similarities[i], distances[i]});
  }
  const int64_t end = first + frames.size(0);
  for (auto at = first_visits_.lower_bound(first); at != first_visits_.end() && *at < end; ++at) {
    keep_features(*at, frames.narrow(0, *at - first, 1));
  }
  for (const camera::Revisit& revisit : clip_->revisits) {
    if (revisit.frame < first || revisit.frame >= end) continue;
    score_revisit(revisit, frames.narrow(0, revisit.frame - first, 1),
                  truth.narrow(0, revisit.frame - first, 1));
  }
  for (const camera::Revisit& revisit : picked_) {
    if (revisit.frame >= first && revisit.frame < end) {
      shown_[revisit.frame] = frames[revisit.frame - first].clone();
    }
  }
}

MetricValues ContinuationScores::values() const {
  MetricValues values;
  const bool lpips = networks_->alex.has_value();
  const auto add = [&](const FrameScore& score, const std::string& suffix) {
    values["mse" + suffix].push_back(score.mse);
    values["psnr" + suffix].push_back(score.psnr);
    values["ssim" + suffix].push_back(score.ssim);
    if (lpips) values["lpips" + suffix].push_back(score.lpips);
  };
  const auto add_mean = [&](int64_t count, const std::string& suffix) {
    FrameScore sum;
    const auto n = static_cast<double>(count);
    for (int64_t i = 0; i < count; ++i) {
      const FrameScore& frame = frames_[static_cast<size_t>(i)];
      sum.mse += frame.mse / n;
      sum.psnr += frame.psnr / n;
      sum.ssim += frame.ssim / n;
      sum.lpips += frame.lpips / n;
    }
    add(sum, suffix);
  };
  const auto count = std::ssize(frames_);
  if (count > 0) add_mean(count, "");
  const int64_t part = std::llround(kFirstPart * clip_->clock);
  if (count > part) add_mean(part, "_20");
  for (const camera::Revisit& revisit : clip_->revisits) {
    const auto found = revisits_.find(revisit.frame);
    if (found == revisits_.end()) continue;
    const FrameScore& frame = frames_[static_cast<size_t>(revisit.frame - clip_->context_frames)];
    const std::string gap = gap_suffix(revisit.gap);
    add(frame, "_revisit");
    if (revisit.earlier < clip_->context_frames) add(frame, "_context");
    add(frame, gap);
    const RevisitScore& score = found->second;
    const std::pair<std::string, double> others[] = {{"sharpness_revisit", score.sharpness},
                                                     {"lpips_vgg_revisit", score.lpips_vgg},
                                                     {"identity_dino", score.identity_dino},
                                                     {"identity_clip", score.identity_clip},
                                                     {"local_1", score.local_1},
                                                     {"local_5", score.local_5},
                                                     {"local_10", score.local_10},
                                                     {"local_5" + gap, score.local_5}};
    for (const auto& [key, value] : others) {
      if (std::isfinite(value)) values[key].push_back(value);
    }
    if (lpips && std::isfinite(score.local_5) && gap == kRevisitGaps.front().suffix) {
      values["local_gap" + gap].push_back(frame.lpips - score.local_5);
    }
  }
  return values;
}

std::vector<Curve> ContinuationScores::curves() const {
  Curve curve{"psnr", {}};
  const auto fps = static_cast<size_t>(std::max(1LL, std::llround(clip_->clock)));
  for (size_t begin = 0; begin < frames_.size(); begin += fps) {
    const size_t end = std::min(begin + fps, frames_.size());
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += frames_[i].psnr;
    curve.points.emplace_back(static_cast<double>(begin / fps),
                              sum / static_cast<double>(end - begin));
  }
  return {curve};
}

std::vector<PictureRow> ContinuationScores::pictures(const std::string& variant) const {
  std::vector<PictureRow> rows;
  for (const camera::Revisit& revisit : picked_) {
    const auto found = shown_.find(revisit.frame);
    if (found == shown_.end()) continue;
    PictureRow row;
    row.title = fmt::format("{:.2f} s after the context",
                            seconds_of(revisit.frame - clip_->context_frames + 1));
    if (revisit.earlier >= 0) {
      row.title += fmt::format(", first visit {:.1f} s before", revisit.gap);
      row.cells.push_back(
          make_cell("first visit, recorded", clips_->read(index_, revisit.earlier, 1)[0]));
    }
    row.cells.push_back(make_cell("recording", clips_->read(index_, revisit.frame, 1)[0]));
    const double level = frames_[static_cast<size_t>(revisit.frame - clip_->context_frames)].psnr;
    row.cells.push_back(make_cell(fmt::format("{}: {:.1f} dB", variant, level), found->second));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<size_t> pick_instants(const std::vector<camera::Revisit>& revisits, size_t most) {
  std::vector<std::vector<size_t>> gaps(kRevisitGaps.size());
  for (size_t i = 0; i < revisits.size(); ++i) gaps[gap_index(revisits[i].gap)].push_back(i);
  // Gaps with few revisits leave their share to the others.
  std::sort(gaps.begin(), gaps.end(),
            [](const auto& a, const auto& b) { return a.size() < b.size(); });
  std::vector<size_t> picked;
  for (size_t g = 0; g < gaps.size(); ++g) {
    const size_t share = (most - picked.size()) / (gaps.size() - g);
    const size_t count = std::min(gaps[g].size(), share);
    for (size_t i = 0; i < count; ++i) picked.push_back(gaps[g][i * gaps[g].size() / count]);
  }
  std::sort(picked.begin(), picked.end());
  return picked;
}

void add_shared_errors(const EvalClip& clip, const std::vector<std::map<int64_t, at::Tensor>>& maps,
                       const std::vector<MetricValues*>& values) {
  for (const camera::Revisit& revisit : clip.revisits) {
    std::vector<at::Tensor> errors;
    for (const auto& map : maps) {
      if (const auto found = map.find(revisit.frame); found != map.end()) {
        errors.push_back(found->second.to(at::kFloat).unsqueeze(0));
      }
    }
    // A video that ends early has no value and does not change the region of the others.
    if (errors.empty()) continue;
    const at::Tensor region = worst_region(at::stack(errors).mean(0), kLocalShare);
    const std::string gap = gap_suffix(revisit.gap);
    for (size_t i = 0, next = 0; i < maps.size(); ++i) {
      if (!maps[i].contains(revisit.frame)) continue;
      const double error = mean_error(errors[next++], region).front();
      (*values[i])["local_5_shared"].push_back(error);
      if (gap == kRevisitGaps.front().suffix) (*values[i])["local_5_shared" + gap].push_back(error);
    }
  }
}

std::vector<Metric> continuation_metrics(const Networks& networks) {
  using Better = Metric::Better;
  const std::string no_alex =
      networks.alex ? "" : absent_note("LPIPS (AlexNet); scripts/fetch_lpips.py downloads it");
  const std::string no_vgg =
      networks.vgg ? "" : absent_note("LPIPS (VGG); scripts/fetch_lpips.py downloads it");
  const std::string no_dino = networks.dino ? "" : absent_note("DINOv2");
  const std::string no_clip = networks.clip ? "" : absent_note("CLIP");
  std::vector<Metric> metrics;
  std::vector<std::pair<const char*, const char*>> parts = {
      {"", ""},
      {"_20", ", first 20 s"},
      {"_revisit", " at revisits"},
      {"_context", " at revisits to the context"}};
  for (const RevisitGap& gap : kRevisitGaps) parts.emplace_back(gap.suffix, gap.words);
  for (const auto& [suffix, words] : parts) {
    const std::string s = suffix, w = words;
    metrics.push_back({"psnr" + s, "PSNR" + w, Better::kHigher, 2});
    metrics.push_back({"ssim" + s, "SSIM" + w, Better::kHigher, 3});
    metrics.push_back({"lpips" + s, "LPIPS" + w, Better::kLower, 3, no_alex});
    metrics.push_back({"mse" + s, "MSE" + w, Better::kLower, 4});
  }
  metrics.push_back({"lpips_vgg_revisit", "LPIPS (VGG) at revisits", Better::kLower, 3, no_vgg});
  metrics.push_back({"identity_dino", "identity (DINOv2)", Better::kHigher, 3, no_dino});
  metrics.push_back({"identity_clip", "identity (CLIP)", Better::kHigher, 3, no_clip});
  for (const char* share : {"1", "5", "10"}) {
    metrics.push_back({std::string("local_") + share, fmt::format("local error, worst {} %", share),
                       Better::kLower, 3, no_dino});
  }
  for (const RevisitGap& gap : kRevisitGaps) {
    metrics.push_back({std::string("local_5") + gap.suffix,
                       std::string("local error, worst 5 %") + gap.words, Better::kLower, 3,
                       no_dino});
  }
  const std::string short_gap = kRevisitGaps.front().suffix,
                    short_words = kRevisitGaps.front().words;
  metrics.push_back(
      {"local_5_shared", "local error, shared worst 5 %", Better::kLower, 3, no_dino});
  metrics.push_back({"local_5_shared" + short_gap, "local error, shared worst 5 %" + short_words,
                     Better::kLower, 3, no_dino});
  metrics.push_back({"local_gap" + short_gap, "LPIPS − local error" + short_words, Better::kNeither,
                     3, networks.dino ? no_alex : no_dino});
  metrics.push_back({"sharpness_revisit", "sharpness relative to recording", Better::kNearOne, 2});
  metrics.push_back({"chunk_seconds", "s per chunk", Better::kLower, 3});
  metrics.push_back({"history_mib", "history, MiB", Better::kLower, 1});
  metrics.push_back({"visible", "retained frames per chunk", Better::kNeither, 1});
  return metrics;
}

std::vector<Metric> pick_metrics(const std::vector<Metric>& all,
                                 const std::vector<std::string>& keys) {
  std::vector<Metric> picked;
  for (const std::string& key : keys) {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Metric& metric) { return metric.key == key; });
    LOCI_CHECK(found != all.end(), "unknown metric '{}'", key);
    picked.push_back(*found);
  }
  return picked;
}

}  // namespace loci::eval
