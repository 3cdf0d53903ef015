// SPDX-License-Identifier: Apache-2.0
#include "loci/eval/export/system_input.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "loci/base/choice.h"
#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/interrupt.h"
#include "loci/base/output_path.h"
#include "loci/camera/lens.h"
#include "loci/camera/path/resample.h"
#include "loci/camera/path/trajectory_io.h"
#include "loci/eval/mind/mind_data.h"
#include "loci/io/media/image.h"
#include "loci/io/media/video.h"

namespace loci::eval {

namespace fs = std::filesystem;

namespace {

constexpr double kModelFps = 16;

// Cameras [begin, end) of the clip, relative to the first, in the poses that the format has.
camera::Trajectory part_of(const EvalClip& clip, const ClipFormat& format,
                           const camera::Format& files, int64_t begin, int64_t end) {
  camera::Trajectory path;
  path.fps = format.fps;
  path.width = static_cast<int>(format.width);
  path.height = static_cast<int>(format.height);
  const camera::Pose back = clip.trajectory.cameras[static_cast<size_t>(begin)].pose.inverse();
  for (int64_t i = begin; i < end; ++i) {
    const camera::Camera& camera = clip.trajectory.cameras[static_cast<size_t>(i)];
    path.cameras.push_back({back * camera.pose, camera.lens});
  }
  path.cameras.front().pose = camera::Pose{};
  if (files.one_pose_per_latent) path = camera::latent_poses(path);
  return &files == &camera::kLociJson ? camera::pad_to_chunks(path) : path;
}

}  // namespace

const std::vector<WorldSystem>& world_systems() {
  static const std::vector<WorldSystem> systems = {
      {"loci", "LOCI", 864, 480, 16, "loci", ".json"},
      {"hy-worldplay", "HY-WorldPlay", 832, 480, 24, "worldplay", ".json"},
      {"matrix-game-3", "Matrix-Game 3.0", 1280, 704, 17, "matrix-game", ".npz", /*actions=*/true},
      {"lingbot-world", "LingBot-World", 832, 464, 16, "npy", ""},
      {"alayaworld", "AlayaWorld", 960, 544, 24, "npy", ""},
      {"alaya-evoke", "Alaya-EVOKE", 640, 384, 24, "npy", ""},
      {"car", "CaR", 832, 480, 24, "npy", ""},
      {"sana-wm", "SANA-WM", 1280, 704, 16, "sana", ".npz"},
      {"solarwm", "SolarWM", 864, 480, 16, "sana", ".npz"}};
  return systems;
}

const WorldSystem& find_system(std::string_view name) {
  std::vector<std::string> names;
  for (const WorldSystem& system : world_systems()) {
    if (system.name == name) return system;
    names.emplace_back(system.name);
  }
  fail_choice("system", name, names);
}

ClipFormat system_format(const WorldSystem& system) {
  ClipFormat format;
  format.width = system.width;
  format.height = system.height;
  format.fps = system.fps;
  format.grid = {.frames_per_latent = 1, .latents_per_chunk = 1};
  return format;
}

ClipOptions system_options(const WorldSystem& system, const ClipOptions& options, bool mind) {
  ClipOptions own = options;
  if (options.stride) {
    own.stride = *options.stride * kModelFps / system.fps;
  } else if (mind) {
    own.stride = kMindFps / system.fps;
  }
  return own;
}

std::vector<SystemAction> quantised_actions(const std::vector<camera::Pose>& poses) {
  std::vector<SystemAction> actions;
  if (poses.empty()) return actions;
  camera::Vec3 position = poses.front().position;
  double yaw = poses.front().yaw(), pitch = poses.front().pitch();
  const double turn = camera::radians(kActionTurn);
  const auto sign = [](double value, double step) {
    return std::abs(value) < step / 2 ? 0 : value > 0 ? 1 : -1;
  };
  for (size_t i = 1; i < poses.size(); ++i) {
    SystemAction action;
    action.yaw = sign(std::remainder(poses[i].yaw() - yaw, 2 * std::numbers::pi), turn);
    action.pitch = sign(poses[i].pitch() - pitch, turn);
    yaw += turn * action.yaw;
    pitch += turn * action.pitch;
    const camera::Mat3 heading = camera::rotation_from_angles(yaw, 0);
    const camera::Vec3 away = heading.transposed() * (poses[i].position - position);
    action.forward = sign(away.z, kActionStep);
    action.right = sign(away.x, kActionStep);
    const double step = action.forward != 0 && action.right != 0 ? kActionDiagonal : kActionStep;
    position = position + heading * camera::Vec3{step * action.right, 0, step * action.forward};
    actions.push_back(action);
  }
  return actions;
}

void export_clip(const WorldSystem& system, const EvalClips& clips, size_t index, bool mind,
                 const fs::path& out) {
  check_usable(clips, index);
  const EvalClip& clip = clips.clip(index);
  const ClipFormat& format = clips.format();
  const camera::Format& files = camera::find_format(system.format);
  const fs::path folder = out / clip.name;
  make_folders(folder);
  const auto write_cameras = [&](const char* name, int64_t begin, int64_t end) {
    camera::write_trajectory(folder / (std::string(name) + std::string(system.file)),
                             part_of(clip, format, files, begin, end), files);
  };
  const int64_t memory = clip.context_frames;
  if (memory > 1) {
    io::VideoOptions options;
    options.fps = format.fps;
    options.crf = 10;
    io::VideoWriter video(folder / "memory.mp4", format.width, format.height, options);
    constexpr int64_t kBlock = 64;
    for (int64_t at = 0; at < memory; at += kBlock) {
      check_interrupt();
      const at::Tensor frames = clips.read(index, at, std::min(kBlock, memory - at));
      for (const at::Tensor& frame : frames.unbind(0)) video.add(frame);
    }
    video.finish();
    write_cameras("memory-camera", 0, memory);
  }
  io::write_png(folder / "start.png", clips.read(index, memory - 1, 1)[0]);
  write_cameras("target-camera", memory - 1, clip.frames());
  write_cameras("all-camera", 0, clip.frames());
  if (system.actions) {
    const std::vector<camera::Pose> poses = camera::poses_of(clip.trajectory.cameras);
    Json list = Json::array();
    for (const SystemAction& action :
         quantised_actions({poses.begin() + memory - 1, poses.end()})) {
      list.push_back({{"w", action.forward > 0},
                      {"s", action.forward < 0},
                      {"a", action.right < 0},
                      {"d", action.right > 0},
                      {"yaw_deg", kActionTurn * action.yaw},
                      {"pitch_deg", kActionTurn * action.pitch}});
    }
    write_file(folder / "target-actions.json", list.dump() + "\n");
  }
  write_file(folder / "caption.txt", clip.caption + "\n");
  const Json about = {{"system", system.name},
                      {"clip", clip.name},
                      {"width", format.width},
                      {"height", format.height},
                      {"fps", format.fps},
                      {"memory_frames", memory},
                      {"target_frames", clip.new_frames()},
                      {"prediction", mind ? clip.name + "/video.mp4" : clip.name + ".mp4"},
                      {"prediction_fps", mind ? kMindFps : format.fps}};
  write_file(folder / "clip.json", about.dump(2) + "\n");
}

}  // namespace loci::eval
