// SPDX-License-Identifier: Apache-2.0
// Continuations as videos: written by a suite, or made by another program and scored without a
// model. A folder contains one video per clip, named after the clip.
#pragma once

#include <filesystem>
#include <memory>

#include "loci/eval/suites/continuation.h"
#include "loci/io/media/video.h"

namespace loci::eval {

// FOLDER/<clip>.mp4, for MIND FOLDER/<clip>/video.mp4; the name of a clip may contain folders. Of a
// recording's own path ("<recording>, recorded"), also FOLDER/<recording>.mp4.
std::filesystem::path prediction_file(const std::filesystem::path& folder, const EvalClips& clips,
                                      size_t clip);

// It is bad input if a folder has no video for any of the clips. Single missing videos are reported
// when they are opened.
void check_predictions(const std::vector<ModelChoice>& folders, const EvalClips& clips);

// The format of the models; without models, that of the first folder of predictions.
ClipFormat format_of(const std::vector<ModelChoice>& models,
                     const std::vector<ModelChoice>& predictions, const Sampling& sampling);

// Frame size and rate of the first video in the folder or below, with the default time grid. A
// folder without videos is bad input.
ClipFormat prediction_format(const std::filesystem::path& folder);

// Passes the frames of the continuation to `take` in blocks, like Continuation::run. The video
// starts with the first frame after the context. Its frames are sampled at the clips' frame rate
// (nearest frame), resized, and cropped at the centre. A video that ends early is bad input.
void replay_prediction(const std::filesystem::path& video, const EvalClips& clips, size_t clip,
                       const Continuation::FrameSink& take);
// The same for MIND: the frames of the video belong to the recorded frames after mark_time, one by
// one, and are cropped to 16:9 like in the scorer. The video may end early.
void replay_mind_prediction(const std::filesystem::path& video, const EvalClips& clips, size_t clip,
                            double stride, const Continuation::FrameSink& take);

// Writes a continuation without loss, so that its scores are those of the generated frames. The
// file appears at finish().
class PredictionWriter {
 public:
  PredictionWriter(const std::filesystem::path& folder, const EvalClips& clips, size_t clip);
  // Adds the next frames, uint8 [frames, H, W, 3].
  void add(const at::Tensor& frames);
  void finish() { writer_->finish(); }

 private:
  std::unique_ptr<io::VideoWriter> writer_;
};

}  // namespace loci::eval
