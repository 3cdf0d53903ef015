// SPDX-License-Identifier: Apache-2.0
// Clips to evaluate: recordings that are divided into a context and a continuation.
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

// Format of the clips, as required by the models.
struct ClipFormat {
  int64_t width = 192, height = 128;
  double fps = 16;
  double fov = 90;  // degrees; horizontal field of view of recordings without a lens
  camera::TimeGrid grid;
};

struct EvalClip {
  std::string name, caption;
  camera::Trajectory trajectory;  // one camera per frame; frame 0 and whole chunks
  int64_t context_frames = 1;     // frames given to the model: frame 0 and whole chunks
  // Revisits of the continuation, at most one per latent frame.
  std::vector<camera::Revisit> revisits;

  int64_t frames() const { return static_cast<int64_t>(trajectory.cameras.size()); }
  int64_t new_frames() const { return frames() - context_frames; }
};

class EvalClips {
 public:
  virtual ~EvalClips() = default;
  virtual size_t size() const = 0;
  virtual const EvalClip& clip(size_t index) const = 0;
  // Frames of the clip, resized and cropped: uint8 [count, height, width, 3].
  virtual at::Tensor read(size_t index, int64_t first, int64_t count) const = 0;
  // Recorded depth of the last frame of every latent frame, float [latents, height, width], in
  // metres along the ray. Undefined if there is none.
  virtual at::Tensor depth(size_t) const { return {}; }
  virtual bool has_depth(size_t) const { return false; }
  // The same of the frames [first, first + count).
  virtual at::Tensor frame_depth(size_t, int64_t /*first*/, int64_t /*count*/) const { return {}; }
  // Unique name of the clip's frames; it identifies cached latents on disk.
  virtual std::string identity(size_t index) const = 0;
  const ClipFormat& format() const { return format_; }

 protected:
  explicit EvalClips(const ClipFormat& format) : format_(format) {}

 private:
  ClipFormat format_;
};

std::vector<std::string> clip_names(const EvalClips& clips);

// Options for reading recordings in that format.
world::RecordingOptions recording_options(const ClipFormat& format);

struct ClipOptions {
  double context_seconds = 0;     // 0: only the first frame; for MIND: the whole memory segment
  std::optional<double> seconds;  // length of the continuation; default: the rest of the recording
  std::optional<int64_t> count;   // number of recordings; default: all
};

// The recordings in `folder`. Recordings that are too short for a context and one chunk are skipped
// with a warning. It is bad input if none remains.
std::unique_ptr<EvalClips> open_recordings(const std::filesystem::path& folder,
                                           const ClipFormat& format, const ClipOptions& options);

// Revisits of the continuation at frames that are multiples of `frames_per_latent`.
std::vector<camera::Revisit> continuation_revisits(const camera::Trajectory& trajectory,
                                                   int64_t context_frames,
                                                   const camera::TimeGrid& grid);

}  // namespace loci::eval
