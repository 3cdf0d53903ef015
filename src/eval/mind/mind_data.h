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
// The paper trains on every second frame of recordings with 24 frames per second.
constexpr double kMindStride = 2;
// action.json contains no lens. 90 degrees is the default of Unreal Engine's cameras.
constexpr double kMindFov = 90;

struct MindRecording {
  std::string view;  // "1st_data" or "3rd_data"
  std::string name;  // "data-26"
  std::filesystem::path video, action;
  int64_t mark_time = 0;   // first frame to predict
  int64_t total_time = 0;  // number of frames

  std::string clip() const { return view + "/mem_test/" + name; }
};

// Whether `root` has the folder layout of MIND.
bool is_mind(const std::filesystem::path& root);

// Recordings of the memory test in `root` (the folder with 1st_data and 3rd_data) with the views
// options.views, ordered by view and number; at most options.count. Empty if `root` does not have
// this layout. It is bad input if it has the layout, but no recording of these views. The times of
// recordings that cannot be read are 0.
std::vector<MindRecording> find_mind(const std::filesystem::path& root,
                                     const ClipOptions& options = {});

// Format of clips of MIND. With `token` > 0, the side of a token in pixels, the frame size is
// replaced by the one closest to 16:9 with about as many tokens. Frames of about 16:9 (within 5 %)
// are resized as a whole; others are cropped, so that prediction and recording show different parts
// when the scorer crops them again.
ClipFormat mind_format(ClipFormat format, int64_t token);
// For the report: what a frame size that is not 16:9 means. Empty for 16:9.
std::string mind_size_note(const ClipFormat& format);

// Clips of these recordings; those that cannot be read have damage(). Every options.stride-th frame
// is used, counted from mark_time in both directions, so that the first generated frame is the
// first one to predict. Frames at the start that do not fill a chunk are dropped.
// options.context_seconds > 0 limits the memory segment.
std::unique_ptr<EvalClips> open_mind(const std::vector<MindRecording>& recordings,
                                     const ClipFormat& format, const ClipOptions& options);

// Recordings or MIND, depending on the layout of the folder.
struct EvalData {
  std::vector<MindRecording> mind;  // empty if the data is not MIND
  std::unique_ptr<EvalClips> clips;
};
// `token` as in mind_format().
EvalData open_data(const std::filesystem::path& folder, const ClipFormat& format, int64_t token,
                   const ClipOptions& options);

// Writes generated frames to ROOT/<view>/mem_test/<name>/video.mp4 at 24 frames per second (nearest
// generated frame; of two, the earlier), from mark_time to the end or for options.seconds. Whole
// frames are written as 1280x720, cropped ones in their size. The file appears at finish().
class MindPrediction {
 public:
  MindPrediction(const std::filesystem::path& root, const MindRecording& recording,
                 const ClipFormat& format, const ClipOptions& options);
  // Adds the next generated frames, uint8 [frames, H, W, 3].
  void add(const at::Tensor& frames);
  void finish() { writer_->finish(); }
  const std::filesystem::path& path() const { return path_; }

  static std::filesystem::path file(const std::filesystem::path& root,
                                    const MindRecording& recording);

 private:
  std::filesystem::path path_;
  bool stretch_;
  double step_;           // recorded frames per generated frame
  int64_t wanted_;        // number of frames of the prediction
  int64_t written_ = 0;   // frames written so far
  int64_t received_ = 0;  // generated frames received so far
  std::unique_ptr<io::VideoWriter> writer_;
};

}  // namespace loci::eval
