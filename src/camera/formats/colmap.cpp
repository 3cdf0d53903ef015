// SPDX-License-Identifier: Apache-2.0
// COLMAP text models: a folder with cameras.txt (lenses) and images.txt (world-to-camera poses).
#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/log.h"
#include "loci/base/text.h"
#include "loci/camera/formats/format.h"

namespace loci::camera {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kImageLayout =
    "'IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME' of COLMAP's images.txt";
constexpr std::string_view kCameraLayout =
    "'CAMERA_ID MODEL WIDTH HEIGHT PARAMS…' of COLMAP's cameras.txt";

struct Model {
  std::string_view name;
  size_t focal_lengths;  // 1: fx = fy
  size_t distortion;     // parameters after the centre
};

// Supported models. Their small radial and tangential distortion is ignored, with a warning.
// Fisheye models have a different projection and are not supported.
constexpr std::array kModels = {
    Model{"SIMPLE_PINHOLE", 1, 0}, Model{"PINHOLE", 2, 0}, Model{"SIMPLE_RADIAL", 1, 1},
    Model{"RADIAL", 1, 2},         Model{"OPENCV", 2, 4},  Model{"FULL_OPENCV", 2, 8},
};

struct ColmapCamera {
  Lens lens;
  ImageSize size;
};

int parse_extent(std::string_view field, const Where& where) {
  const std::optional<int64_t> pixels = parse_int(field);
  if (!pixels || *pixels < 1 || *pixels > 1'000'000) {
    fail("{}: an image extent of '{}' pixels; expected {}", where.str(), field, kCameraLayout);
  }
  return static_cast<int>(*pixels);
}

ColmapCamera parse_camera(const Line& line, const std::string& file) {
  const Where where{file, "line", line.number};
  if (line.fields.size() < 5) {
    fail("{}: {} columns; expected {}", where.str(), line.fields.size(), kCameraLayout);
  }
  const auto model = std::find_if(kModels.begin(), kModels.end(),
                                  [&](const Model& m) { return m.name == line.fields[1]; });
  if (model == kModels.end()) {
    std::vector<std::string_view> names;
    for (const Model& m : kModels) names.push_back(m.name);
    fail(
        "{}: camera model {} is not supported; expected one of {}; undistort the images to PINHOLE "
        "first (colmap image_undistorter)",
        where.str(), line.fields[1], fmt::join(names, ", "));
  }
  const size_t count = model->focal_lengths + 2 + model->distortion;
  if (line.fields.size() != 4 + count) {
    fail("{}: {} parameters for camera model {}; expected {}", where.str(), line.fields.size() - 4,
         model->name, count);
  }
  const ImageSize size{parse_extent(line.fields[2], where), parse_extent(line.fields[3], where)};
  const std::vector<double> v = numbers(line, 4, count, file, kCameraLayout);
  const size_t centre = model->focal_lengths;
  if (std::any_of(v.begin() + static_cast<std::ptrdiff_t>(centre) + 2, v.end(),
                  [](double value) { return value != 0; })) {
    log_warning("{}: the distortion of camera {} is ignored; the path uses its pinhole part",
                where.str(), line.fields[0]);
  }
  return {lens_from_pixels({v[0], v[centre - 1], v[centre], v[centre + 1]},
                           {double(size.width), double(size.height)}, where),
          size};
}

std::map<int64_t, ColmapCamera> read_cameras(const fs::path& path) {
  const std::string text = read_file(path);
  const std::string name = path.string();
  std::map<int64_t, ColmapCamera> cameras;
  for (const Line& line : data_lines(text)) {
    const std::optional<int64_t> id = parse_int(line.fields[0]);
    if (!id || !cameras.emplace(*id, parse_camera(line, name)).second) {
      fail("{}: '{}' is not a new camera number; expected {}",
           Where{name, "line", line.number}.str(), line.fields[0], kCameraLayout);
    }
  }
  return cameras;
}

struct Image {
  std::string_view name;
  Pose pose;
  ColmapCamera camera;
};

Image parse_image(const Line& line, const std::string& file,
                  const std::map<int64_t, ColmapCamera>& cameras) {
  const Where where{file, "line", line.number};
  if (line.fields.size() < 10) {
    fail("{}: {} columns; expected {}", where.str(), line.fields.size(), kImageLayout);
  }
  const std::vector<double> v = numbers(line, 1, 7, file, kImageLayout);
  const std::optional<int64_t> id = parse_int(line.fields[8]);
  const auto camera = id ? cameras.find(*id) : cameras.end();
  if (camera == cameras.end()) {
    fail("{}: camera '{}' is not in cameras.txt", where.str(), line.fields[8]);
  }
  const Pose world_to_camera =
      pose_from_quaternion({v[0], v[1], v[2], v[3]}, {v[4], v[5], v[6]}, where);
  const auto start = static_cast<size_t>(line.fields[9].data() - line.text.data());
  return {line.text.substr(start), world_to_camera.inverse(), camera->second};
}

// Every second line lists points and may be blank. So blank lines count, comments do not.
std::vector<Line> image_lines(std::string_view text) {
  std::vector<Line> lines;
  int64_t number = 0;
  bool expects_image = true;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line);
    if (line.starts_with('#') || (expects_image && line.empty())) continue;
    if (expects_image) lines.push_back({number, line, split_whitespace(line)});
    expects_image = !expects_image;
  }
  return lines;
}

bool looks_like_image(const Line& line) {
  if (line.fields.size() < 10 || !parse_int(line.fields[0]) || !parse_int(line.fields[8])) {
    return false;
  }
  return !parse_double(line.fields[9]) &&
         std::all_of(line.fields.begin() + 1, line.fields.begin() + 8,
                     [](std::string_view field) { return parse_double(field).has_value(); });
}

bool recognises(const Source& source) {
  if (source.is_folder()) return source.inside("images.txt") || source.inside("images.bin");
  const Line* first = source.first_line();
  return first != nullptr && looks_like_image(*first);
}

Trajectory read(const Source& source, const ReadOptions& options) {
  const fs::path folder = source.is_folder() ? source.path() : source.path().parent_path();
  const fs::path images_file = source.is_folder() ? folder / "images.txt" : source.path();
  if (!fs::exists(images_file)) {
    fail(
        "{}: a binary COLMAP model; convert it to text first "
        "(colmap model_converter --output_type TXT)",
        source.name());
  }
  if (!fs::exists(folder / "cameras.txt")) {
    fail("{}: cameras.txt is missing beside images.txt", source.name());
  }
  const std::map<int64_t, ColmapCamera> cameras = read_cameras(folder / "cameras.txt");
  const std::string text = read_file(images_file);
  const std::string name = images_file.string();
  std::vector<Image> images;
  for (const Line& line : image_lines(text)) images.push_back(parse_image(line, name, cameras));
  std::stable_sort(images.begin(), images.end(),
                   [](const Image& a, const Image& b) { return natural_less(a.name, b.name); });
  Trajectory path = empty_path(kColmap, options);
  for (const Image& image : images) {
    path.cameras.push_back({image.pose, image.camera.lens});
  }
  if (!images.empty()) {
    path.width = images.front().camera.size.width;
    path.height = images.front().camera.size.height;
  }
  return path;
}

void write(const fs::path& folder, const Trajectory& path, const WriteOptions&) {
  const ImageSize size = image_size(path);
  std::string cameras = "# CAMERA_ID MODEL WIDTH HEIGHT PARAMS[]\n";
  std::string images =
      "# IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME\n# POINTS2D[] as X Y POINT3D_ID\n";
  int camera_id = 0;
  for (size_t i = 0; i < path.cameras.size(); ++i) {
    if (i == 0 || path.cameras[i].lens != path.cameras[i - 1].lens) {
      const Pinhole p = pixel_pinhole(path.cameras[i].lens, size, "COLMAP");
      cameras += fmt::format("{} PINHOLE {} {} {} {} {} {}\n", ++camera_id, size.width, size.height,
                             p[0], p[1], p[2], p[3]);
    }
    const Pose inverse = path.cameras[i].pose.inverse();
    const Quaternion q = to_quaternion(inverse.rotation);
    const Vec3& t = inverse.position;
    images += fmt::format("{} {} {} {} {} {} {} {} {} {:05}.png\n\n", i + 1, q.w, q.x, q.y, q.z,
                          t.x, t.y, t.z, camera_id, i);
  }
  make_folder(folder);
  write_file(folder / "cameras.txt", cameras);
  write_file(folder / "points3D.txt", "# POINT3D_ID X Y Z R G B ERROR TRACK[]\n");
  write_file(folder / "images.txt", images);
}

}  // namespace

const Format kColmap{"colmap", "COLMAP text model", 16, false, recognises, read, write};

}  // namespace loci::camera
