// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/formats/mind.h"

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/camera/formats/format.h"

namespace loci::camera {

namespace {

Vec3 read_vector(const Json& frame, const Where& where, const char* key) {
  const Json& object = json_member(frame, where, key);
  const auto component = [&](const char* axis) {
    return json_number(json_member(object, where, axis), where, key);
  };
  return {component("x"), component("y"), component("z")};
}

Pose read_pose(const Json& frame, const Where& where, const char* position_key,
               const char* angles_key) {
  const Vec3 angles = read_vector(frame, where, angles_key);
  if (!(norm(angles) < 1e6)) fail("{}: {} is not in degrees", where.str(), angles_key);
  Pose pose = from_unreal({read_vector(frame, where, position_key), angles.x, angles.y, angles.z});
  checked_position(pose.position, where);
  return pose;
}

int read_action(const Json& frame, const Where& where, const char* key) {
  const auto found = frame.find(key);
  if (found == frame.end()) return 0;
  const double value = json_number(*found, where, key);
  if (value != 0 && value != 1 && value != 2) {
    fail("{}: {} is {}; expected 0, 1 or 2", where.str(), key, value);
  }
  return static_cast<int>(value);
}

int64_t read_count(const Json& root, const Source& source, const char* key, int64_t fallback) {
  const auto found = root.find(key);
  if (found == root.end() || found->is_null()) return fallback;
  const double value = json_number(*found, source.at("frame", 0), key);
  if (!(value >= 0 && value < 1e9))
    fail("{}: {} is {}; expected frames", source.name(), key, value);
  return static_cast<int64_t>(value);
}

bool recognises(const Source& source) {
  if (source.is_folder()) return source.inside("action.json").has_value();
  if (!source.is_json() || !source.json().is_object()) return false;
  const auto data = source.json().find("data");
  return data != source.json().end() && data->is_array() && !data->empty() &&
         (*data)[0].is_object() && (*data)[0].contains("actor_pos");
}

Trajectory read(const Source& source, const ReadOptions& options) {
  const auto file = source.inside("action.json");
  const MindClip clip = read_mind_clip(file ? Source(*file) : source);
  Trajectory path = empty_path(kMind, options);
  path.cameras = with_lens(options.actor ? clip.actor : clip.camera, lens_from_fov(options.fov_x));
  return path;
}

// The action between two consecutive poses, as a recorder of keys would store it.
MindAction action_between(const Pose& from, const Pose& to) {
  constexpr double kLeastStep = 1e-3;           // metres per frame
  constexpr double kLeastTurn = radians(0.05);  // per frame
  const auto code = [](double value, double least) {
    return std::abs(value) < least ? 0 : value > 0 ? 1 : 2;
  };
  // In the horizontal frame of the first pose.
  const Mat3 heading = rotation_from_angles(from.yaw(), 0);
  const Vec3 step = heading.transposed() * (to.position - from.position);
  const double right = std::remainder(to.yaw() - from.yaw(), 2 * std::numbers::pi);
  return {code(step.z, kLeastStep), code(-step.x, kLeastStep),
          code(to.pitch() - from.pitch(), kLeastTurn), code(-right, kLeastTurn)};
}

void write(const std::filesystem::path& file, const Trajectory& path, const WriteOptions&) {
  std::string text =
      fmt::format("{{\"mark_time\": 0, \"total_time\": {}, \"caption\": \"\", \"data\": [",
                  path.cameras.size());
  for (size_t i = 0; i < path.cameras.size(); ++i) {
    const UnrealPose pose = to_unreal(path.cameras[i].pose);
    const Pose& next = path.cameras[std::min(i + 1, path.cameras.size() - 1)].pose;
    const MindAction action = action_between(path.cameras[i].pose, next);
    const Json frame = {
        {"time", i},
        {"ws", action.ws},
        {"ad", action.ad},
        {"ud", action.ud},
        {"lr", action.lr},
        {"actor_pos", {{"x", pose.position.x}, {"y", pose.position.y}, {"z", pose.position.z}}},
        {"actor_rpy", {{"x", pose.roll}, {"y", pose.pitch}, {"z", pose.yaw}}}};
    text += fmt::format("{}\n{}", i == 0 ? "" : ",", frame.dump());
  }
  write_file(file, text + "\n]}\n");
}

}  // namespace

Pose from_unreal(const UnrealPose& pose) {
  // Unreal's (forward, right, up) are our (z, x, -y). Its angles have the same signs as ours: yaw
  // to the right, pitch up, roll clockwise.
  const Vec3& p = pose.position;
  return {rotation_from_angles(radians(pose.yaw), radians(pose.pitch), radians(pose.roll)),
          {p.y / 100, -p.z / 100, p.x / 100}};
}

UnrealPose to_unreal(const Pose& pose) {
  const Vec3& p = pose.position;
  return {{p.z * 100, p.x * 100, -p.y * 100},
          degrees(pose.roll()),
          degrees(pose.pitch()),
          degrees(pose.yaw())};
}

MindClip read_mind_clip(const Source& source) {
  const Json& root = source.json();
  const Json& data = json_member(root, source.at("frame", 0), "data");
  if (!data.is_array()) fail("{}: data must be a list of frames", source.name());
  MindClip clip;
  clip.mark_time = read_count(root, source, "mark_time", 0);
  clip.total_time = read_count(root, source, "total_time", static_cast<int64_t>(data.size()));
  if (const auto caption = root.find("caption"); caption != root.end() && caption->is_string()) {
    clip.caption = caption->get<std::string>();
  }
  for (size_t i = 0; i < data.size(); ++i) {
    const Json& frame = data[i];
    const Where where = source.at("data[]", static_cast<int64_t>(i));
    clip.actor.push_back(read_pose(frame, where, "actor_pos", "actor_rpy"));
    if (i == 0) clip.third_person = frame.contains("camera_pos");
    clip.camera.push_back(clip.third_person ? read_pose(frame, where, "camera_pos", "camera_rpy")
                                            : clip.actor.back());
    clip.actions.push_back({read_action(frame, where, "ws"), read_action(frame, where, "ad"),
                            read_action(frame, where, "ud"), read_action(frame, where, "lr")});
  }
  return clip;
}

const Format kMind{"mind", "MIND action.json", 24, false, recognises, read, write};

}  // namespace loci::camera
