// SPDX-License-Identifier: Apache-2.0
// Statistics of a view's memory.
#include <algorithm>
#include <cmath>
#include <functional>

#include <ATen/ATen.h>

#include "loci/serve/walk/view.h"

namespace loci::serve {

namespace {

constexpr double kRadius = 6;          // metres; frames farther away do not count as overlapping
constexpr double kLeastOverlap = 0.3;  // of a revisit
constexpr size_t kMostListed = 128;    // retained frames in the statistics

// Shortens a long list by removing frames of the bank, except those for which `keep` is true. Every
// nth frame by its number stays. n is a power of two, so that the selection changes rarely.
void thin(std::vector<RetainedFrame>& retained,
          const std::function<bool(const RetainedFrame&)>& keep) {
  if (retained.size() <= kMostListed) return;
  const auto always = [&](const RetainedFrame& frame) {
    return frame.kind != "bank" || keep(frame);
  };
  const auto kept = static_cast<size_t>(std::count_if(retained.begin(), retained.end(), always));
  const size_t room = kMostListed - std::min(kept, kMostListed - 8);
  int64_t step = 2;
  while ((retained.size() - kept) / static_cast<size_t>(step) > room) step *= 2;
  std::erase_if(retained, [&](const RetainedFrame& frame) {
    return !always(frame) && frame.frame % step != 0;
  });
}

std::vector<double> norms_of(const std::vector<at::Tensor>& states, double& mean_square) {
  std::vector<double> norms;
  double sum = 0;
  for (const at::Tensor& state : states) {
    if (!state.defined()) continue;
    // [B, H, ...]: one matrix per head.
    const at::Tensor flat = state.flatten(0, 1).flatten(1).to(at::kFloat);
    const double square = flat.square().sum(1).mean().item<double>();
    sum += square;
    norms.push_back(std::sqrt(square));
  }
  mean_square = norms.empty() ? 0 : sum / static_cast<double>(norms.size());
  return norms;
}

}  // namespace

std::vector<camera::VisibleDirections> View::views_of(
    const std::vector<memory::RetainedFrame>& held, double aspect) {
  std::map<int64_t, camera::VisibleDirections> shown;
  std::vector<camera::VisibleDirections> views;
  for (const memory::RetainedFrame& retained : held) {
    const auto known = shown_.find(retained.frame.index);
    views.push_back(known != shown_.end()
                        ? known->second
                        : camera::visible_directions(retained.frame.camera, aspect));
    shown.emplace(retained.frame.index, views.back());
  }
  shown_ = std::move(shown);
  return views;
}

MemoryStats View::memory_stats(const std::vector<int64_t>& seen) {
  const sample::CachedTransformer& main = stream_->main();
  const double aspect = static_cast<double>(stream_->options().latent_width) /
                        static_cast<double>(stream_->options().latent_height);
  const camera::Pose here =
      main.first_pose().value_or(camera::Pose()).inverse() * stream_->last_camera().pose;
  const camera::VisibleDirections newest =
      camera::visible_directions({here, stream_->last_camera().lens}, aspect);
  camera::DirectionSet panorama;
  MemoryStats stats;
  double best = kLeastOverlap;
  const std::vector<memory::RetainedFrame> held = main.policy().save();
  const std::vector<camera::VisibleDirections> views = views_of(held, aspect);
  for (size_t i = 0; i < held.size(); ++i) {
    const memory::HistoryFrame& frame = held[i].frame;
    stats.retained.push_back({frame.index, std::string(memory::name_of(held[i].role)),
                              frame.camera.pose,
                              std::binary_search(seen.begin(), seen.end(), frame.index)});
    if (camera::norm(views[i].position - here.position) < kRadius) panorama |= views[i].directions;
    if (held[i].role == memory::FrameRole::kRecent) continue;
    const camera::VisibleDirections* const other = &views[i];
    const double overlap = camera::coverage(newest, std::span(&other, 1), kRadius);
    if (overlap >= best) {
      best = overlap;
      stats.revisited = {frame.index, overlap};
    }
  }
  stats.retained_total = static_cast<int64_t>(stats.retained.size());
  const bool bounded = main.policy().bounded();
  thin(stats.retained, [&](const RetainedFrame& frame) {
    return (bounded && frame.seen) || (stats.revisited && frame.frame == stats.revisited->frame);
  });
  std::string mask(camera::kSphereDirections / 8, '\0');
  for (int n = 0; n < camera::kSphereDirections; ++n) {
    if (panorama[n]) mask[n / 8] = static_cast<char>(mask[n / 8] | 1 << n % 8);
  }
  stats.panorama.mask.data = std::move(mask);
  stats.panorama.share =
      static_cast<double>(panorama.count()) / static_cast<double>(camera::kSphereDirections);
  double mean_square = 0;
  stats.memory_bytes = stream_->history_bytes();
  stats.state_norms = norms_of(main.states(), mean_square);
  if (!stats.state_norms.empty()) stats.state_norm = std::sqrt(mean_square);
  stats.retention = main.retention();
  return stats;
}

ViewInfo View::describe() const {
  return {.model = model_->id(),
          .history = settings_.history.kind,
          .history_frames = settings_.history.budget,
          .readout = settings_.readout,
          .steps = settings_.solver.steps,
          .recurrent = model_->recurrent(),
          .frame_budget = stream_->main().policy().frame_budget()};
}

}  // namespace loci::serve
