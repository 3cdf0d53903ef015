// SPDX-License-Identifier: Apache-2.0
// Recordings to be continued: what a model is given of them, and what it should make.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "loci/camera/revisit.h"
#include "loci/camera/time_grid.h"
#include "loci/camera/trajectory.h"
#include "loci/world/recording/recording.h"

namespace loci::eval {

// Sizes that follow from the models.
struct ClipFormat {
  int64_t width = 192, height = 128;
  double fps = 16;
  double fov = 90;  // degrees, where a recording has no lens
  camera::TimeGrid grid;
};

struct EvalClip {
  std::string name, caption;
  camera::Trajectory trajectory;  // one pose a frame: 1 + whole chunks
  int64_t context_frames = 1;     // of them that the model is given: 1 + whole chunks
  // Of frames in the continuation, one instant a latent at most.
  std::vector<camera::Revisit> revisits;

  int64_t frames() const { return static_cast<int64_t>(trajectory.cameras.size()); }
  int64_t new_frames() const { return frames() - context_frames; }
};

class EvalClips {
 public:
  virtual ~EvalClips() = default;
  virtual size_t size() const = 0;
  virtual const EvalClip& clip(size_t index) const = 0;
  // Frames of the clip, resized and cut: uint8 [count, height, width, 3].
  virtual at::Tensor read(size_t index, int64_t first, int64_t count) const = 0;
  // Depth of every latent's last frame as far as it was recorded, float [latents, height, width] in
  // metres along the ray; undefined where none was.
  virtual at::Tensor depth(size_t) const { return {}; }
  virtual bool has_depth(size_t) const { return false; }
  // Names the clip's pictures among all that there are, for what is kept of them on disk.
  virtual std::string identity(size_t index) const = 0;
  const ClipFormat& format() const { return format_; }

 protected:
  explicit EvalClips(const ClipFormat& format) : format_(format) {}

 private:
  ClipFormat format_;
};

std::vector<std::string> clip_names(const EvalClips& clips);

// How recordings are read for that format.
world::RecordingOptions recording_options(const ClipFormat& format);

struct ClipOptions {
  double context_seconds = 0;     // 0: the first frame alone; of MIND, all of the memory segment
  std::optional<double> seconds;  // of the continuation; all that was recorded if not given
  std::optional<int64_t> count;   // the first so many recordings
};

// The recordings under `folder`. Those too short for a chunk after their context are left out, with
// a warning; when none is left that is bad input.
std::unique_ptr<EvalClips> open_recordings(const std::filesystem::path& folder,
                                           const ClipFormat& format, const ClipOptions& options);

// Revisits of the continuation, one a latent: the instants at which suites look.
std::vector<camera::Revisit> continuation_revisits(const camera::Trajectory& trajectory,
                                                   int64_t context_frames,
                                                   const camera::TimeGrid& grid);

}  // namespace loci::eval
