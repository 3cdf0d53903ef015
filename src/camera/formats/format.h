// SPDX-License-Identifier: Apache-2.0
// What every file format of camera paths provides: how to tell its files, read and write them.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "loci/camera/formats/source.h"
#include "loci/camera/lens.h"
#include "loci/camera/path/keys.h"
#include "loci/camera/trajectory.h"

namespace loci::camera {

// What a file does not say itself.
struct ReadOptions {
  double fov_x = std::numbers::pi / 2;  // radians, where the file has no lens
  std::optional<double> video_fps;      // where it has no times; default: the format's
  ImageSize size;                       // where it has a pixel matrix only; default 2 cx by 2 cy
  std::optional<std::filesystem::path> intrinsics;  // file of lenses beside a .npy of poses
  bool world_to_camera = false;                     // .npy and .npz whose matrices are inverted
  bool actor = false;                               // MIND: the character's pose, not the camera's
  KeySpeeds keys;                                   // key strings
};

struct WriteOptions {
  KeySpeeds keys;
};

struct Format {
  std::string_view name;     // "re10k", as options spell it
  std::string_view title;    // "RealEstate10K text"
  double video_fps;          // video frames a second of files that do not say
  bool one_pose_per_latent;  // otherwise one per video frame

  bool (*recognises)(const Source& source);
  Trajectory (*read)(const Source& source, const ReadOptions& options);
  // `path` is a file, or a folder for formats of several files.
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

// For readers: a path without poses yet, at the rate and of the size that the options or the
// format give.
Trajectory empty_path(const Format& format, const ReadOptions& options);

// For readers of times: sets the rate. Uneven times (more than a tenth of a step off) are resampled
// to even ones at the mean rate. `seconds` must rise; `lines` are their lines in the file.
void set_times(Trajectory& trajectory, const std::vector<double>& seconds,
               const std::vector<int64_t>& lines, std::string_view file);

// For writers of folders: creates `path` unless it is one.
void make_folder(const std::filesystem::path& path);

}  // namespace loci::camera
