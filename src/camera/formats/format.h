// SPDX-License-Identifier: Apache-2.0
// The interface of a file format of camera paths: recognise, read and write its files.
#pragma once

#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "loci/camera/formats/source.h"
#include "loci/camera/lens.h"
#include "loci/camera/path/keys.h"
#include "loci/camera/trajectory.h"

namespace loci::camera {

// Values that a file does not contain.
struct ReadOptions {
  double fov_x = std::numbers::pi / 2;  // radians, for files without lenses
  std::optional<double> video_fps;      // for files without times; default: the format's rate
  ImageSize size;                       // for pixel matrices; default: 2 cx by 2 cy
  std::optional<std::filesystem::path> intrinsics;  // file of lenses for a .npy file of poses
  bool world_to_camera = false;  // whether matrices of .npy and .npz are inverted
  bool actor = false;            // MIND: read the character's poses, not the camera's
  KeySpeeds keys;                // for key strings
  // Seconds of the path that are needed; readers may leave out the rest. Default: all.
  double max_seconds = std::numeric_limits<double>::infinity();
};

struct WriteOptions {
  KeySpeeds keys;
};

struct Format {
  std::string_view name;     // as in options, such as "re10k"
  std::string_view title;    // for people, such as "RealEstate10K text"
  double video_fps;          // video frames per second of files without a rate
  bool one_pose_per_latent;  // otherwise one pose per video frame

  bool (*recognises)(const Source& source);
  Trajectory (*read)(const Source& source, const ReadOptions& options);
  // `path` is a file, or a folder for formats with several files.
  void (*write)(const std::filesystem::path& path, const Trajectory& trajectory,
                const WriteOptions& options);
};

extern const Format kLociJson;
extern const Format kRealEstate10k;
extern const Format kColmap;
extern const Format kTum;
extern const Format kKitti;
extern const Format kNerfstudio;
extern const Format kNumpyPoses;
extern const Format kSanaNpz;
extern const Format kMatrixGameNpz;
extern const Format kWorldPlay;
extern const Format kMind;
extern const Format kKeyString;

// For readers: a trajectory without cameras, with the rate and size of the options or the format.
Trajectory empty_path(const Format& format, const ReadOptions& options);

// For readers of formats with times: sets the rate. If a time differs by more than a tenth of a
// step from an even spacing, the path is resampled at the mean rate, with a warning. `seconds` must
// increase, otherwise bad input; `lines` are the lines of the times in the file. A resampled path
// ends after options.max_seconds.
void set_times(Trajectory& trajectory, const std::vector<double>& seconds,
               const std::vector<int64_t>& lines, std::string_view file,
               const ReadOptions& options);

// For writers of folders: creates the folder `path` if it does not exist.
void make_folder(const std::filesystem::path& path);

}  // namespace loci::camera
