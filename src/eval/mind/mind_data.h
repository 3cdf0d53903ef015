// SPDX-License-Identifier: Apache-2.0
// The MIND benchmark's own folders: recordings with a memory segment, and the tree of predictions
// that its scorer reads.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loci/eval/suites/eval_clips.h"
#include "loci/io/media/video.h"

namespace loci::eval {

constexpr double kMindFps = 24;

struct MindRecording {
  std::string view;  // "1st_data" or "3rd_data"
  std::string name;  // "data-26"
  std::filesystem::path video, action;
  int64_t mark_time = 0;   // first frame to predict
  int64_t total_time = 0;  // frames

  std::string clip() const { return view + "/mem_test/" + name; }
};

// Clips of the memory test under `root` (the folder of 1st_data and 3rd_data), by view and number;
// none when the folder is no such root. The first `count` of them, or all.
std::vector<MindRecording> find_mind(const std::filesystem::path& root,
                                     std::optional<int64_t> count = {});

// Their continuations. Frames of the recording nearest to format.fps are taken, counted from
// mark_time in both directions, so that the first generated frame is the first to be predicted and
// a beginning that fills no chunk is left out. options.context_seconds > 0 limits the memory
// segment.
std::unique_ptr<EvalClips> open_mind(const std::vector<MindRecording>& recordings,
                                     const ClipFormat& format, const ClipOptions& options);

// Writes generated frames as ROOT/<view>/mem_test/<name>/video.mp4 at 24 frames a second, each
// showing the nearest generated one. The file appears at finish().
class MindPrediction {
 public:
  MindPrediction(const std::filesystem::path& root, const MindRecording& recording,
                 const ClipFormat& format, std::optional<double> seconds);
  // Frames in order.
  void add(const at::Tensor& frames);
  void finish() { writer_->finish(); }
  const std::filesystem::path& path() const { return path_; }

  static std::filesystem::path file(const std::filesystem::path& root,
                                    const MindRecording& recording);

 private:
  std::filesystem::path path_;
  double step_;           // frames of the recording a generated one
  int64_t wanted_;        // frames of the prediction
  int64_t written_ = 0;   // of them
  int64_t received_ = 0;  // generated frames
  std::unique_ptr<io::VideoWriter> writer_;
};

}  // namespace loci::eval
