// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/suites/eval_clips.h"

#include <algorithm>
#include <cmath>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/log.h"

namespace loci::eval {

namespace {

class RecordingClips : public EvalClips {
 public:
  RecordingClips(const std::filesystem::path& folder, const ClipFormat& format,
                 const ClipOptions& options)
      : EvalClips(format), stride_(options.stride.value_or(0)) {
    world::RecordingOptions recording = recording_options(format);
    recording.stride = stride_;
    recording.fov = options.fov.value_or(format.fov);
    std::string first_damage;
    for (world::RecordingFiles& files : world::find_recordings(folder)) {
      if (options.count && std::ssize(clips_) >= *options.count) break;
      check_interrupt();
      const std::string name = files.name;
      try {
        add(world::Recording(std::move(files), recording), options);
      } catch (const Error& error) {
        log_warning("{}", error.what());
        if (first_damage.empty()) first_damage = error.what();
        EvalClip& clip = clips_.emplace_back();
        clip.name = name;
        recordings_.emplace_back();
        damage_.emplace_back(error.what());
      }
    }
    if (std::none_of(recordings_.begin(), recordings_.end(),
                     [](const auto& one) { return one.has_value(); })) {
      if (!first_damage.empty()) fail("{}", first_damage);
      fail(
          "{}: no recording is long enough; expected more than {:.4g} s of context and one chunk "
          "of "
          "{} frames. Record longer clips or reduce --context-seconds",
          folder.string(), options.context_seconds, format.grid.frames_per_chunk());
    }
  }

  size_t size() const override { return clips_.size(); }
  const EvalClip& clip(size_t index) const override { return clips_.at(index); }
  std::string damage(size_t index) const override { return damage_.at(index); }
  at::Tensor read(size_t index, int64_t first, int64_t count) const override {
    return recordings_.at(index).value().read(first, count).frames;
  }
  at::Tensor depth(size_t index) const override {
    const camera::TimeGrid& grid = format().grid;
    const at::Tensor all = recordings_.at(index).value().read_depth(grid.frames_per_latent);
    const int64_t latents = grid.latents_in_frames(clip(index).frames());
    return all.defined() ? all.narrow(0, 0, latents) : all;
  }
  bool has_depth(size_t index) const override {
    return recordings_.at(index) && recordings_.at(index)->has_depth();
  }
  at::Tensor frame_depth(size_t index, int64_t first, int64_t count) const override {
    return recordings_.at(index).value().read_depth(first, count);
  }
  std::string identity(size_t index) const override {
    const std::string own = recordings_.at(index).value().identity();
    return stride_ > 0 ? fmt::format("{} every {}", own, stride_) : own;
  }

 private:
  void add(world::Recording recording, const ClipOptions& options) {
    const camera::TimeGrid& grid = format().grid;
    // Chunks after frame 0.
    const int64_t available = grid.chunks_in_frames(recording.frame_count()) - 1;
    const double clock = options.clock.value_or(Clock::kGenerated) == Clock::kRecorded
                             ? recording.recorded_fps() / recording.stride()
                             : format().fps;
    // The tolerance of 1e-6 below keeps lengths that are whole chunks up to rounding errors.
    const auto chunks = [&](double seconds) {
      return seconds * clock / static_cast<double>(grid.frames_per_chunk());
    };
    const auto context = static_cast<int64_t>(std::floor(chunks(options.context_seconds) + 1e-6));
    if (available <= context) {
      log_warning("{}: skipped because it has only {} frames", recording.name(),
                  recording.frame_count());
      return;
    }
    int64_t fresh = available - context;
    if (options.seconds) {
      const double wanted = std::ceil(chunks(*options.seconds) - 1e-6);
      fresh = std::min(fresh, std::max<int64_t>(1, static_cast<int64_t>(wanted)));
    }
    EvalClip clip;
    clip.name = recording.name();
    clip.caption = recording.caption();
    clip.context_frames = grid.frames_in_chunks(1 + context);
    clip.clock = clock;
    clip.trajectory = recording.trajectory();
    const auto frames = static_cast<size_t>(grid.frames_in_chunks(1 + context + fresh));
    clip.trajectory.cameras.resize(frames);
    clip.revisits = continuation_revisits(clip, grid);
    clips_.push_back(std::move(clip));
    recordings_.emplace_back(std::move(recording));
    damage_.emplace_back();
  }

  double stride_;  // 0: by the rates
  std::vector<EvalClip> clips_;
  std::vector<std::optional<world::Recording>> recordings_;  // absent if damaged
  std::vector<std::string> damage_;
};

}  // namespace

world::RecordingOptions recording_options(const ClipFormat& format) {
  world::RecordingOptions options;
  options.width = static_cast<int>(format.width);
  options.height = static_cast<int>(format.height);
  options.fps = format.fps;
  options.fov = format.fov;
  return options;
}

std::vector<std::string> clip_names(const EvalClips& clips) {
  std::vector<std::string> names;
  for (size_t i = 0; i < clips.size(); ++i) names.push_back(clips.clip(i).name);
  return names;
}

void check_usable(const EvalClips& clips, size_t clip) {
  if (const std::string damage = clips.damage(clip); !damage.empty()) fail("{}", damage);
}

std::unique_ptr<EvalClips> open_recordings(const std::filesystem::path& folder,
                                           const ClipFormat& format, const ClipOptions& options) {
  return std::make_unique<RecordingClips>(folder, format, options);
}

std::vector<camera::Revisit> continuation_revisits(const EvalClip& clip,
                                                   const camera::TimeGrid& grid) {
  std::vector<camera::Revisit> revisits =
      camera::find_revisits(camera::poses_of(clip.trajectory.cameras), clip.clock);
  std::erase_if(revisits, [&](const camera::Revisit& revisit) {
    return revisit.frame < clip.context_frames ||
           revisit.frame != grid.camera_frame(grid.latent_of_frame(revisit.frame));
  });
  return revisits;
}

}  // namespace loci::eval
