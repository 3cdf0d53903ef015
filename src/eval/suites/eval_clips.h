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
  // Whether whole frames are resized, which changes their aspect ratio, instead of cropped.
  bool stretch = false;
};

// What durations are counted in: context, continuation, the time since a first visit, windows.
enum class Clock {
  kGenerated,  // seconds of the generated video, at the frame rate of the model
  kRecorded,   // seconds of the recording
};

struct EvalClip {
  std::string name, caption;
  camera::Trajectory trajectory;  // one camera per frame; frame 0 and whole chunks
  int64_t context_frames = 1;     // frames given to the model: frame 0 and whole chunks
  double clock = 16;              // frames per second, as durations are counted (Clock)
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
  // Why the clip cannot be used; it then has only a name. Empty for usable clips.
  virtual std::string damage(size_t) const { return ""; }
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

// Fails if the clip is damaged.
void check_usable(const EvalClips& clips, size_t clip);

// Options for reading recordings in that format.
world::RecordingOptions recording_options(const ClipFormat& format);

struct ClipOptions {
  double context_seconds = 0;     // 0: only the first frame; for MIND: the whole memory segment
  std::optional<double> seconds;  // length of the continuation; default: the rest of the recording
  std::optional<int64_t> count;   // number of recordings; default: all
  // Recorded frames per frame of a clip. Default: the recorded time is kept; for MIND kMindStride.
  std::optional<double> stride = {};
  // Default: kGenerated; for MIND kRecorded.
  std::optional<Clock> clock = {};
  // Horizontal field of view of recordings without a lens, degrees. Default: the model's; for MIND
  // kMindFov.
  std::optional<double> fov = {};
  // MIND: folders of the views, "1st_data" or "3rd_data".
  std::vector<std::string> views = {"1st_data"};
};

// The recordings in `folder`. Recordings that are too short for a context and one chunk are skipped
// with a warning; those that cannot be read are clips with damage(). It is bad input if no usable
// one remains.
std::unique_ptr<EvalClips> open_recordings(const std::filesystem::path& folder,
                                           const ClipFormat& format, const ClipOptions& options);

// Revisits of the continuation at frames that are multiples of `frames_per_latent`, by the clip's
// clock.
std::vector<camera::Revisit> continuation_revisits(const EvalClip& clip,
                                                   const camera::TimeGrid& grid);

}  // namespace loci::eval
