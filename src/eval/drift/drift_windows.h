// SPDX-License-Identifier: Apache-2.0
// Sharpness, contrast and flicker of a continuation relative to the recording, by window of time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loci/eval/suites/eval_clips.h"
#include "loci/eval/suites/part_result.h"

namespace loci::eval {

// Division of a continuation into windows of equal length. Frames after the last complete window
// belong to none.
struct WindowGrid {
  double seconds = 5;  // per window
  int64_t first = 1;   // first frame of the continuation
  int64_t frames = 0;  // per window
  int64_t count = 0;   // complete windows

  WindowGrid(const EvalClip& clip, double seconds);
  std::optional<size_t> window_of(int64_t frame) const;
};

// Suffix of the keys of a window: "_5_10" for the seconds 5 to 10.
std::string window_suffix(double seconds, int64_t window);

class DriftWindows {
 public:
  // `clips` must outlive this object. Recorded depth that cannot be read is bad input.
  DriftWindows(const EvalClips& clips, size_t clip, double window_seconds);

  // Adds the next frames of the continuation and the recorded ones, uint8 [frames, H, W, 3].
  void add(int64_t first, const at::Tensor& generated, const at::Tensor& recorded);

  // Metrics sharpness, contrast and flicker: mean over the frames of a window, divided by that of
  // the recording. By suffix:
  //   none                    one value per window
  //   _0_5, _5_10, …          the value of one window
  //   _lowest (sharpness, contrast), _highest (flicker)  over the windows, one value
  // Windows whose recorded frames have no detail have no value.
  MetricValues values() const;

  const WindowGrid& grid() const { return grid_; }

 private:
  // Sums over the frames of a window.
  struct Sums {
    double sharpness = 0, contrast = 0, flicker = 0;
  };
  struct Window {
    Sums generated, recorded;
    int64_t pairs = 0;  // pairs of neighbouring frames with a value of flicker
  };
  void add_flicker(int64_t first, const at::Tensor& generated, const at::Tensor& recorded);

  const EvalClips* clips_;
  size_t index_;
  WindowGrid grid_;
  std::vector<Window> windows_;
  at::Tensor last_generated_, last_recorded_;  // lumas of the newest frames, [H, W]
};

}  // namespace loci::eval
