// SPDX-License-Identifier: Apache-2.0
// Recordings: a video with a camera file of any supported format and an optional caption.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "loci/world/recording/clip.h"

namespace loci::world {

struct RecordingFiles {
  std::string name;
  std::filesystem::path video;    // a video file or a folder of numbered images
  std::filesystem::path camera;   // a file or folder that camera/path/trajectory_io.h reads
  std::filesystem::path caption;  // empty if there is none
  std::filesystem::path depth;    // depth.npy beside the video; empty if there is none
};

// Finds the recordings under `folder`, sorted by name. A recording is either a folder at any depth
// (one video, or images in frames/, with camera.*, poses.npy, path.json, trajectory.*,
// transforms.json or cameras/, and caption.txt) or files side by side (NAME.mp4 with NAME.json,
// NAME.npy, NAME.npz or NAME.camera.txt, and NAME.txt). A video without cameras and a folder
// without recordings are bad input.
std::vector<RecordingFiles> find_recordings(const std::filesystem::path& folder);

struct RecordingOptions {
  int64_t frames = 81;  // per clip
  int width = 192, height = 128;
  double fps = 16;  // faster videos are sampled at their nearest frames
  double fov = 90;  // degrees, for camera files without lenses
  // Recorded frames per frame; 0: as many as keep the recorded time at `fps` frames per second.
  double stride = 0;
};

// An open recording with one camera per frame. Every read opens the video again, so several threads
// may read.
class Recording {
 public:
  Recording(RecordingFiles files, const RecordingOptions& options);

  const std::string& name() const { return files_.name; }
  const std::string& caption() const { return caption_; }
  // Number of frames at options.fps.
  int64_t frame_count() const { return static_cast<int64_t>(trajectory_.cameras.size()); }
  // Frames of the recording per second, and per frame at options.fps.
  double recorded_fps() const { return recorded_fps_; }
  double stride() const { return stride_; }
  // All cameras at options.fps. The lenses are those of the resized and cropped frames.
  const camera::Trajectory& trajectory() const { return trajectory_; }

  // Frames [first, first + frames), resized and cropped at the centre.
  Clip read(int64_t first, int64_t frames) const;

  // Depth of every step-th frame, float [n, height, width], metres along the ray: the recorded
  // value at the centre of each resized pixel. Undefined if the recording has no depth.
  at::Tensor read_depth(int64_t step) const;
  // The same of the frames [first, first + count).
  at::Tensor read_depth(int64_t first, int64_t count) const;
  bool has_depth() const { return !files_.depth.empty(); }

  // Identifies the recorded frames: path, size and time of the video.
  std::string identity() const;

 private:
  // Depth of these frames, ascending.
  at::Tensor depth_of(const std::vector<int64_t>& frames) const;

  RecordingFiles files_;
  RecordingOptions options_;
  std::vector<int64_t> source_frame_;  // frame of the video, per frame at options.fps
  camera::Trajectory trajectory_;
  double recorded_fps_ = 0, stride_ = 1;
  std::string caption_;
};

// All recordings, cut into consecutive pieces of options.frames. A remainder at the end is dropped.
// Several threads may read.
class RecordingPieces {
 public:
  RecordingPieces(const std::filesystem::path& folder, const RecordingOptions& options);
  int64_t count() const { return static_cast<int64_t>(pieces_.size()); }
  Clip read(int64_t index) const;

 private:
  struct Piece {
    size_t recording;
    int64_t first;  // first frame
  };
  RecordingOptions options_;
  std::vector<Recording> recordings_;
  std::vector<Piece> pieces_;
};

}  // namespace loci::world
