// SPDX-License-Identifier: Apache-2.0
// Folder layout of the MIND benchmark: recordings with a memory segment, and the tree of
// predictions that its scorer reads.
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
  int64_t total_time = 0;  // number of frames

  std::string clip() const { return view + "/mem_test/" + name; }
};

// Recordings of the memory test in `root` (the folder with 1st_data and 3rd_data), ordered by view
// and number; at most `count`. Empty if `root` does not have this layout.
std::vector<MindRecording> find_mind(const std::filesystem::path& root,
                                     std::optional<int64_t> count = {});

// Clips of these recordings. Frames are resampled to format.fps (nearest frame), counted from
// mark_time in both directions, so that the first generated frame is the first one to predict.
// Frames at the start that do not fill a chunk are dropped. options.context_seconds > 0 limits the
// memory segment.
std::unique_ptr<EvalClips> open_mind(const std::vector<MindRecording>& recordings,
                                     const ClipFormat& format, const ClipOptions& options);

// Writes generated frames to ROOT/<view>/mem_test/<name>/video.mp4 at 24 frames per second (nearest
// generated frame). The file appears at finish().
class MindPrediction {
 public:
  MindPrediction(const std::filesystem::path& root, const MindRecording& recording,
                 const ClipFormat& format, std::optional<double> seconds);
  // Adds the next generated frames, uint8 [frames, H, W, 3].
  void add(const at::Tensor& frames);
  void finish() { writer_->finish(); }
  const std::filesystem::path& path() const { return path_; }

  static std::filesystem::path file(const std::filesystem::path& root,
                                    const MindRecording& recording);

 private:
  std::filesystem::path path_;
  double step_;           // recorded frames per generated frame
  int64_t wanted_;        // number of frames of the prediction
  int64_t written_ = 0;   // frames written so far
  int64_t received_ = 0;  // generated frames received so far
  std::unique_ptr<io::VideoWriter> writer_;
};

}  // namespace loci::eval
