// SPDX-License-Identifier: Apache-2.0
// The pose lists of TUM (time, position, quaternion) and KITTI (3x4 matrices) for visual odometry.
// Both are camera-to-world and have no lenses.
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/camera/formats/format.h"

namespace loci::camera {

namespace {

constexpr size_t kTumColumns = 8;
constexpr std::string_view kTumLayout = "the 8 columns 'time tx ty tz qx qy qz qw' of TUM";
constexpr size_t kKittiColumns = 12;
constexpr std::string_view kKittiLayout = "the 12 numbers of a KITTI pose (3x4, row by row)";

bool recognises_tum(const Source& source) {
  const Line* first = source.first_line();
  return first != nullptr && all_numbers(*first, kTumColumns);
}

bool recognises_kitti(const Source& source) {
  const Line* first = source.first_line();
  return first != nullptr && all_numbers(*first, kKittiColumns);
}

void require_columns(const Line& line, size_t count, const Source& source,
                     std::string_view layout) {
  if (line.fields.size() != count) {
    fail("{}: {} columns; expected {}", source.at("line", line.number).str(), line.fields.size(),
         layout);
  }
}

Trajectory read_tum(const Source& source, const ReadOptions& options) {
  Trajectory path = empty_path(kTum, options);
  std::vector<double> seconds;
  std::vector<int64_t> line_numbers;
  for (const Line& line : source.lines()) {
    require_columns(line, kTumColumns, source, kTumLayout);
    const std::vector<double> v = numbers(line, 0, kTumColumns, source.name(), kTumLayout);
    seconds.push_back(v[0]);
    line_numbers.push_back(line.number);
    path.cameras.push_back({pose_from_quaternion({v[7], v[4], v[5], v[6]}, {v[1], v[2], v[3]},
                                                 source.at("line", line.number)),
                            lens_from_fov(options.fov_x)});
  }
  set_times(path, seconds, line_numbers, source.name(), options);
  return path;
}

void write_tum(const std::filesystem::path& file, const Trajectory& path, const WriteOptions&) {
  std::string text = "# timestamp tx ty tz qx qy qz qw\n";
  for (size_t i = 0; i < path.cameras.size(); ++i) {
    const Vec3& p = path.cameras[i].pose.position;
    const Quaternion q = to_quaternion(path.cameras[i].pose.rotation);
    text += fmt::format("{:.9f} {} {} {} {} {} {} {}\n", static_cast<double>(i) / path.fps, p.x,
                        p.y, p.z, q.x, q.y, q.z, q.w);
  }
  write_file(file, text);
}

Trajectory read_kitti(const Source& source, const ReadOptions& options) {
  Trajectory path = empty_path(kKitti, options);
  for (const Line& line : source.lines()) {
    require_columns(line, kKittiColumns, source, kKittiLayout);
    path.cameras.push_back(
        {pose_from_matrix(numbers(line, 0, kKittiColumns, source.name(), kKittiLayout),
                          source.at("line", line.number)),
         lens_from_fov(options.fov_x)});
  }
  return path;
}

void write_kitti(const std::filesystem::path& file, const Trajectory& path, const WriteOptions&) {
  std::string text;
  for (const auto& [pose, lens] : path.cameras) {
    const Mat3& r = pose.rotation;
    const Vec3& t = pose.position;
    text += fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}\n", r(0, 0), r(0, 1), r(0, 2), t.x,
                        r(1, 0), r(1, 1), r(1, 2), t.y, r(2, 0), r(2, 1), r(2, 2), t.z);
  }
  write_file(file, text);
}

}  // namespace

const Format kTum{"tum", "TUM pose list", 30, false, recognises_tum, read_tum, write_tum};
const Format kKitti{"kitti",          "KITTI pose list", 10,         false,
                    recognises_kitti, read_kitti,        write_kitti};

}  // namespace loci::camera
