// SPDX-License-Identifier: Apache-2.0
// LOCI's own trajectory files: one camera-to-world matrix per latent, OpenCV axes, metres.
#include <algorithm>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/camera/formats/format.h"

namespace loci::camera {

namespace {

constexpr double kVideoFps = 16;

bool recognises(const Source& source) {
  return source.is_json() && source.json().is_object() && source.json().contains("c2w");
}

// x_fov_deg and xi are either one number for the whole path or one number per pose.
std::vector<double> per_pose(const Json& root, const Source& source, const char* key,
                             double fallback, size_t count) {
  const auto found = root.find(key);
  if (found == root.end() || found->is_null()) return std::vector<double>(count, fallback);
  if (!found->is_array()) {
    return std::vector<double>(count, json_number(*found, source.at("pose", 0), key));
  }
  if (found->size() != count) {
    fail("{}: {} has {} values for {} poses", source.name(), key, found->size(), count);
  }
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) {
    values.push_back(json_number((*found)[i], source.at("pose", static_cast<int64_t>(i)), key));
  }
  return values;
}

std::optional<Pinhole> matrix_of(const Json& root, const Source& source) {
  const auto found = root.find("intrinsics_norm");
  if (found == root.end() || found->is_null()) return std::nullopt;
  if (!found->is_array() || found->size() != 4) {
    fail("{}: intrinsics_norm must be [fx/W, fy/H, cx/W, cy/H]", source.name());
  }
  Pinhole matrix;
  for (size_t i = 0; i < 4; ++i) {
    matrix[i] = json_number((*found)[i], source.at("intrinsics_norm[]", static_cast<int64_t>(i)),
                            "the entry");
  }
  return lens_from_normalised(matrix, source.at("intrinsics_norm[]", 0)).normalised;
}

Trajectory read(const Source& source, const ReadOptions& options) {
  const Json& root = source.json();
  const Json& list = json_member(root, source.at("pose", 0), "c2w");
  if (!list.is_array()) fail("{}: c2w must be a list of 3x4 or 4x4 matrices", source.name());
  Trajectory path = empty_path(kLociJson, options);
  if (const auto fps = root.find("fps"); fps != root.end()) {
    path.fps = json_number(*fps, source.at("pose", 0), "fps") / path.frames_per_pose;
  }
  const std::vector<double> fov =
      per_pose(root, source, "x_fov_deg", degrees(options.fov_x), list.size());
  const std::vector<double> xi = per_pose(root, source, "xi", 0, list.size());
  const std::optional<Pinhole> matrix = matrix_of(root, source);
  for (size_t i = 0; i < list.size(); ++i) {
    const Where where = source.at("c2w[]", static_cast<int64_t>(i));
    const Pose pose = pose_from_matrix(json_matrix(list[i], where, "the pose"), where);
    if (!(fov[i] > 0 && fov[i] < 360)) {
      fail("{}: a field of view of {} degrees; expected 0 to 360", where.str(), fov[i]);
    }
    if (!(xi[i] >= 0 && xi[i] < 100)) fail("{}: xi is {}; expected 0 or more", where.str(), xi[i]);
    if (xi[i] == 0 && fov[i] >= 180) {
      fail("{}: a pinhole lens (xi 0) cannot see {} degrees", where.str(), fov[i]);
    }
    path.cameras.push_back({pose, {radians(fov[i]), xi[i], matrix}});
  }
  return path;
}

// One number if all values are equal.
Json compact(const std::vector<double>& values) {
  const bool equal = std::all_of(values.begin(), values.end(),
                                 [&](double value) { return value == values.front(); });
  return equal ? Json(values.front()) : Json(values);
}

void write(const std::filesystem::path& file, const Trajectory& path, const WriteOptions&) {
  std::vector<double> fov, xi;
  for (const auto& [pose, lens] : path.cameras) {
    // Rounding keeps 90 degrees exactly 90 after the conversion to radians and back.
    fov.push_back(std::round(degrees(lens.fov_x) * 1e9) / 1e9);
    xi.push_back(lens.xi);
  }
  std::string text =
      fmt::format("{{\"x_fov_deg\": {}, \"xi\": {}", compact(fov).dump(), compact(xi).dump());
  // The format has one matrix for the whole path, so a path that zooms is written without it.
  const std::optional<Pinhole>& matrix = path.cameras.front().lens.normalised;
  if (matrix && std::all_of(path.cameras.begin(), path.cameras.end(), [&](const Camera& camera) {
        return camera.lens.normalised == matrix;
      })) {
    text += fmt::format(", \"intrinsics_norm\": {}", Json(*matrix).dump());
  }
  if (path.video_fps() != kVideoFps) {
    text += fmt::format(", \"fps\": {}", Json(path.video_fps()).dump());
  }
  text += ", \"c2w\": [";
  for (size_t i = 0; i < path.cameras.size(); ++i) {
    const Pose& pose = path.cameras[i].pose;
    const Vec3& p = pose.position;
    Json rows = Json::array();
    for (int r = 0; r < 3; ++r) {
      rows.push_back({pose.rotation(r, 0), pose.rotation(r, 1), pose.rotation(r, 2),
                      r == 0   ? p.x
                      : r == 1 ? p.y
                               : p.z});
    }
    text += fmt::format("{}\n  {}", i == 0 ? "" : ",", rows.dump());
  }
  write_file(file, text + "\n]}\n");
}

}  // namespace

const Format kLociJson{"loci", "LOCI trajectory JSON", kVideoFps, true, recognises, read, write};

}  // namespace loci::camera
