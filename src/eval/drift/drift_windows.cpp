// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/drift/drift_windows.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "loci/base/interrupt.h"
#include "loci/eval/metrics/flicker.h"
#include "loci/io/media/image_statistics.h"

namespace loci::eval {

WindowGrid::WindowGrid(const EvalClip& clip, double seconds)
    : seconds(seconds),
      first(clip.context_frames),
      frames(std::max<int64_t>(1, std::llround(seconds * clip.clock))),
      count(clip.new_frames() / frames) {}

std::optional<size_t> WindowGrid::window_of(int64_t frame) const {
  const int64_t window = (frame - first) / frames;
  if (frame < first || window >= count) return std::nullopt;
  return static_cast<size_t>(window);
}

std::string window_suffix(double seconds, int64_t window) {
  const auto at = static_cast<double>(window);
  return fmt::format("_{:g}_{:g}", at * seconds, (at + 1) * seconds);
}

DriftWindows::DriftWindows(const EvalClips& clips, size_t clip, double window_seconds)
    : clips_(&clips),
      index_(clip),
      grid_(clips.clip(clip), window_seconds),
      windows_(static_cast<size_t>(grid_.count)) {
  // Damaged depth is reported before the continuation is generated.
  clips.frame_depth(clip, clips.clip(clip).frames() - 1, 1);
}

void DriftWindows::add(int64_t first, const at::Tensor& generated, const at::Tensor& recorded) {
  const std::vector<double> sharp = io::sharpness(generated), flat = io::contrast(generated);
  const std::vector<double> true_sharp = io::sharpness(recorded),
                            true_flat = io::contrast(recorded);
  for (int64_t i = 0; i < generated.size(0); ++i) {
    const std::optional<size_t> at = grid_.window_of(first + i);
    if (!at) continue;
    const auto frame = static_cast<size_t>(i);
    Window& window = windows_[*at];
    window.generated.sharpness += sharp[frame];
    window.generated.contrast += flat[frame];
    window.recorded.sharpness += true_sharp[frame];
    window.recorded.contrast += true_flat[frame];
  }
  add_flicker(first, generated, recorded);
}

void DriftWindows::add_flicker(int64_t first, const at::Tensor& generated,
                               const at::Tensor& recorded) {
  const at::Tensor luma = io::luma(generated), true_luma = io::luma(recorded);
  const std::vector<camera::Camera>& cameras = clips_->clip(index_).trajectory.cameras;
  // Depth of the frame before the first one, and of all frames.
  const at::Tensor depth = clips_->frame_depth(index_, first - 1, generated.size(0) + 1);
  const auto frame_at = [&](int64_t i) {
    return DepthFrame{cameras[static_cast<size_t>(first + i)],
                      depth.defined() ? depth[i + 1] : at::Tensor()};
  };
  for (int64_t i = 0; i < generated.size(0); ++i) {
    check_interrupt();
    const std::optional<size_t> at = grid_.window_of(first + i);
    // The frame before the first generated one is recorded.
    if (at && last_generated_.defined()) {
      const ViewWarp warp =
          view_warp(frame_at(i), frame_at(i - 1), {generated.size(1), generated.size(2)});
      const double change = flicker(last_generated_, luma[i], warp);
      if (std::isfinite(change)) {
        Window& window = windows_[*at];
        window.generated.flicker += change;
        window.recorded.flicker += flicker(last_recorded_, true_luma[i], warp);
        ++window.pairs;
      }
    }
    last_generated_ = luma[i];
    last_recorded_ = true_luma[i];
  }
}

MetricValues DriftWindows::values() const {
  MetricValues values;
  for (size_t i = 0; i < windows_.size(); ++i) {
    const std::string suffix = window_suffix(grid_.seconds, static_cast<int64_t>(i));
    const auto add = [&](const std::string& metric, double value) {
      if (!std::isfinite(value)) return;
      values[metric].push_back(value);
      values[metric + suffix] = {value};
    };
    const Window& window = windows_[i];
    add("sharpness", window.generated.sharpness / window.recorded.sharpness);
    add("contrast", window.generated.contrast / window.recorded.contrast);
    const auto pairs = static_cast<double>(window.pairs);
    add("flicker",
        relative_flicker(window.generated.flicker / pairs, window.recorded.flicker / pairs));
  }
  const auto extreme = [&](const std::string& metric, const std::string& suffix, auto pick) {
    const auto found = values.find(metric);
    if (found == values.end()) return;
    values[metric + suffix] = {*pick(found->second.begin(), found->second.end())};
  };
  using List = std::vector<double>::const_iterator;
  for (const char* metric : {"sharpness", "contrast"}) {
    extreme(metric, "_lowest", [](List begin, List end) { return std::min_element(begin, end); });
  }
  extreme("flicker", "_highest", [](List begin, List end) { return std::max_element(begin, end); });
  return values;
}

}  // namespace loci::eval
