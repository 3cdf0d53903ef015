// SPDX-License-Identifier: Apache-2.0
// Inputs of other camera-controlled world models: the memory segment and the target path of a clip,
// in the frame size, rate and camera format of the system.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "loci/camera/pose.h"
#include "loci/eval/suites/eval_clips.h"

namespace loci::eval {

struct WorldSystem {
  std::string_view name;    // as in options
  std::string_view title;   // for people
  int64_t width, height;    // frame size of its official pipeline
  double fps;               // frame rate of its official pipeline
  std::string_view format;  // camera format (camera/formats)
  std::string_view file;    // suffix of a camera file; empty for a folder
  bool actions = false;     // whether it is controlled by actions instead of poses
};

// The systems that the paper compares with, and LOCI itself.
const std::vector<WorldSystem>& world_systems();
// An unknown name is bad input; the message lists the names.
const WorldSystem& find_system(std::string_view name);

// Format and options that give clips every frame at the system's rate. `options.stride` counts
// recorded frames per frame at 16 frames per second.
ClipFormat system_format(const WorldSystem& system);
ClipOptions system_options(const WorldSystem& system, const ClipOptions& options, bool mind);

// Keys and turns of one frame.
struct SystemAction {
  int forward = 0, right = 0;  // -1, 0 or 1
  int yaw = 0, pitch = 0;      // -1, 0 or 1: right and up
  bool operator==(const SystemAction&) const = default;
};
// Sizes of the actions of Matrix-Game 3.0, as in the paper's adapter.
constexpr double kActionStep = 0.1235;  // metres per frame; diagonally kActionDiagonal per axis
constexpr double kActionDiagonal = 0.0873;
constexpr double kActionTurn = 1.5;  // degrees per frame
// The actions that follow the poses most closely: one per pose after the first. The difference
// between the executed and the wanted pose is corrected by later actions.
std::vector<SystemAction> quantised_actions(const std::vector<camera::Pose>& poses);

// Writes the input of one clip into out/<clip>:
//   memory.mp4, memory-camera   the memory segment (context) and its cameras, if it has several
//   frames start.png                   its last frame target-camera               cameras of the
//   last frame of the memory and of the frames to generate all-camera                  cameras of
//   both target-actions.json         for systems with actions caption.txt, clip.json      text;
//   sizes, rate, numbers of frames, and where to put the video
// Cameras are relative to the first one in the file.
void export_clip(const WorldSystem& system, const EvalClips& clips, size_t clip, bool mind,
                 const std::filesystem::path& out);

}  // namespace loci::eval
