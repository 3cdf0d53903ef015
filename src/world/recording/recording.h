// SPDX-License-Identifier: Apache-2.0
// Users' own recordings: a video, a camera file of any supported format, a caption.
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
  std::filesystem::path caption;  // empty when there is none
  std::filesystem::path depth;    // depth.npy beside the video; empty when there is none
};

// Recordings under `folder`, by name. Either one folder each (at any depth): one video, or images
// in frames/, with camera.*, poses.npy, path.json, trajectory.*, transforms.json or cameras/, and
// caption.txt; or files side by side: NAME.mp4 with NAME.json, NAME.npy, NAME.npz or
// NAME.camera.txt, and NAME.txt. A video without cameras is bad input, as is a folder without any.
std::vector<RecordingFiles> find_recordings(const std::filesystem::path& folder);

struct RecordingOptions {
  int64_t frames = 81;  // of a clip
  int width = 192, height = 128;
  double fps = 16;  // nearest frames are taken from faster videos
  double fov = 90;  // degrees, where the camera file has no lens
};

// A recording opened: poses matched to frames. Reading opens the video anew, so several threads
// may.
class Recording {
 public:
  Recording(RecordingFiles files, const RecordingOptions& options);

  const std::string& name() const { return files_.name; }
  const std::string& caption() const { return caption_; }
  // Frames at options.fps.
  int64_t frame_count() const { return static_cast<int64_t>(trajectory_.cameras.size()); }
  // All poses at options.fps, with lenses of the resized and cut pictures.
  const camera::Trajectory& trajectory() const { return trajectory_; }

  // `frames` frames from `first` on, resized and cut at the centre.
  Clip read(int64_t first, int64_t frames) const;

  // Depth of every step-th frame, float [n, height, width] in metres along the ray: for each pixel
  // of ours the recorded one at its centre. Undefined where none was recorded.
  at::Tensor read_depth(int64_t step) const;
  bool has_depth() const { return !files_.depth.empty(); }

  // Names the recorded pictures: another video in its place has another name.
  std::string identity() const;

 private:
  RecordingFiles files_;
  RecordingOptions options_;
  std::vector<int64_t> source_frame_;  // of the video, for each of ours
  camera::Trajectory trajectory_;
  std::string caption_;
};

// Every recording cut into pieces of options.frames one after the other, by name; what is left at
// the end is dropped. Safe in several threads.
class RecordingPieces {
 public:
  RecordingPieces(const std::filesystem::path& folder, const RecordingOptions& options);
  int64_t count() const { return static_cast<int64_t>(pieces_.size()); }
  Clip read(int64_t index) const;

 private:
  struct Piece {
    size_t recording;
    int64_t first;  // frame
  };
  RecordingOptions options_;
  std::vector<Recording> recordings_;
  std::vector<Piece> pieces_;
};

}  // namespace loci::world
