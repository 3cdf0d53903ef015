// SPDX-License-Identifier: Apache-2.0
// What a view tells about its memory.
#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "loci/camera/coverage.h"
#include "loci/serve/message.h"
#include "loci/serve/poses.h"
#include "loci/serve/view.h"

namespace loci::serve {

namespace {

constexpr double kRadius = 6;          // metres, as for the bank
constexpr double kLeastOverlap = 0.3;  // of a revisit

// Policies name what a held frame is to them by role: 0 the first, 1 kept, 2 recent.
std::string_view kind_of(const memory::HeldFrame& held, const memory::HistoryOptions& options,
                         int64_t newest) {
  if (options.kind == "dense") {
    if (held.view.frame == 0) return "sink";
    return newest - held.view.frame < options.recent ? "recent" : "bank";
  }
  if (options.kind == "window") {
    const int64_t sink =
        std::min<int64_t>(memory::SinkWindowOptions().sink_frames, options.budget - 1);
    return held.view.frame < sink ? "sink" : "recent";
  }
  return held.role == 0 ? "sink" : held.role == 1 ? "bank" : "recent";
}

Json norms_of(const std::vector<at::Tensor>& states, double& mean_square) {
  Json norms = Json::array();
  double sum = 0;
  for (const at::Tensor& state : states) {
    if (!state.defined()) continue;
    // [B, H, ...]: one matrix a head.
    const at::Tensor flat = state.flatten(0, 1).flatten(1).to(at::kFloat);
    const double square = flat.square().sum(1).mean().item<double>();
    sum += square;
    norms.push_back(std::sqrt(square));
  }
  mean_square = norms.empty() ? 0 : sum / static_cast<double>(norms.size());
  return norms;
}

}  // namespace

Json View::memory_stats(const std::vector<int64_t>& seen) const {
  const sample::ModelStream& main = stream_->main();
  const double aspect = static_cast<double>(stream_->options().latent_width) /
                        static_cast<double>(stream_->options().latent_height);
  const camera::Pose here =
      main.first_pose().value_or(camera::Pose()).inverse() * stream_->last_pose();
  const camera::View newest{camera::view_mask(here, stream_->last_lens(), aspect), here.position};
  camera::ViewMask panorama;
  Json retained = Json::array(), revisited;
  double best = kLeastOverlap;
  for (const memory::HeldFrame& held : main.policy().save()) {
    const std::string_view kind = kind_of(held, stream_->options().history, stream_->frames() - 1);
    const camera::View view{camera::view_mask(held.view.pose, held.view.lens, aspect),
                            held.view.pose.position};
    retained.push_back({{"frame", held.view.frame},
                        {"kind", kind},
                        {"pose", to_json(held.view.pose)},
                        {"seen", std::binary_search(seen.begin(), seen.end(), held.view.frame)}});
    if (camera::norm(view.position - here.position) < kRadius) panorama |= view.mask;
    if (kind == "recent") continue;
    const camera::View* const other = &view;
    const double overlap = camera::coverage(newest, std::span(&other, 1), kRadius);
    if (overlap >= best) {
      best = overlap;
      revisited = {{"frame", held.view.frame}, {"overlap", overlap}};
    }
  }
  std::string mask(camera::kSphereDirections / 8, '\0');
  for (int n = 0; n < camera::kSphereDirections; ++n) {
    if (panorama[n]) mask[n / 8] = static_cast<char>(mask[n / 8] | 1 << n % 8);
  }
  double mean_square = 0;
  Json norms = norms_of(main.states(), mean_square);
  const double share =
      static_cast<double>(panorama.count()) / static_cast<double>(camera::kSphereDirections);
  return {{"memory_bytes", stream_->history_bytes()},
          {"retained", std::move(retained)},
          {"revisited", std::move(revisited)},
          {"panorama", {{"share", share}, {"mask", binary(mask)}}},
          {"retention", main.retention() ? Json(*main.retention()) : Json()},
          {"state_norm", norms.empty() ? Json() : Json(std::sqrt(mean_square))},
          {"state_norms", std::move(norms)}};
}

Json View::describe() const {
  return {{"model", model_->id()},
          {"history", settings_.history.kind},
          {"history_frames", settings_.history.budget},
          {"readout", settings_.readout},
          {"steps", settings_.solver.steps},
          {"recurrent", model_->recurrent()},
          {"frame_budget", stream_->main().policy().frame_budget()}};
}

}  // namespace loci::serve
