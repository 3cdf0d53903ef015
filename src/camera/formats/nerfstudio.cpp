// SPDX-License-Identifier: Apache-2.0
// transforms.json of nerfstudio and instant-ngp: camera-to-world in OpenGL axes (x right, y up,
// looking along -z), world z up.
#include <algorithm>
#include <array>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/base/log.h"
#include "loci/camera/formats/format.h"

namespace loci::camera {

namespace fs = std::filesystem;

namespace {

// World axes of the file to ours: x stays, up (z) becomes -y, and y becomes forward (z).
constexpr Mat3 kToOurWorld{{1, 0, 0, 0, 0, -1, 0, 1, 0}};
// Camera axes: y and z are negated.
constexpr Mat3 kFlip{{1, 0, 0, 0, -1, 0, 0, 0, -1}};

constexpr std::array kDistortion = {"k1", "k2", "k3", "k4", "p1", "p2"};

bool recognises(const Source& source) {
  if (source.is_folder()) return source.inside("transforms.json").has_value();
  if (!source.is_json() || !source.json().is_object()) return false;
  const auto frames = source.json().find("frames");
  return frames != source.json().end() && frames->is_array() && !frames->empty() &&
         (*frames)[0].is_object() && (*frames)[0].contains("transform_matrix");
}

// The value of a key in the frame, otherwise in the file.
std::optional<double> find_number(const Json& frame, const Json& root, const Where& where,
                                  const char* key) {
  for (const Json* level : {&frame, &root}) {
    const auto found = level->find(key);
    if (found != level->end() && !found->is_null()) return json_number(*found, where, key);
  }
  return std::nullopt;
}

ImageSize size_of(const Json& frame, const Json& root, const Where& where) {
  const std::optional<double> w = find_number(frame, root, where, "w");
  const std::optional<double> h = find_number(frame, root, where, "h");
  if (!w || !h) return {};
  if (!(*w >= 1 && *w <= 1e6 && *h >= 1 && *h <= 1e6)) {
    fail("{}: an image of {} x {} pixels", where.str(), *w, *h);
  }
  return {static_cast<int>(std::lround(*w)), static_cast<int>(std::lround(*h))};
}

Lens lens_of(const Json& frame, const Json& root, const ReadOptions& options, ImageSize& size,
             const Where& where) {
  const auto number = [&](const char* key) { return find_number(frame, root, where, key); };
  if (const ImageSize given = size_of(frame, root, where); given.known()) size = given;
  const std::optional<double> fx = number("fl_x");
  if (!fx) {
    const std::optional<double> angle = number("camera_angle_x");
    if (!angle) return lens_from_fov(options.fov_x);
    if (!(*angle > 0 && *angle < std::numbers::pi)) {
      fail("{}: camera_angle_x is {}; expected radians between 0 and pi", where.str(), *angle);
    }
    return lens_from_fov(*angle);
  }
  std::optional<double> cx = number("cx"), cy = number("cy");
  if (!size.known() && cx && cy) {
    const auto extent = implied_extent({*fx, *fx, *cx, *cy}, where);
    size = {static_cast<int>(std::lround(extent[0])), static_cast<int>(std::lround(extent[1]))};
  }
  if (!size.known()) {
    fail("{}: fl_x without w and h; give the image size with --size", where.str());
  }
  return lens_from_pixels({*fx, number("fl_y").value_or(*fx), cx.value_or(size.width / 2.0),
                           cy.value_or(size.height / 2.0)},
                          {double(size.width), double(size.height)}, where);
}

void check_model(const Json& level, const Source& source) {
  const auto model = level.find("camera_model");
  if (model == level.end() || !model->is_string()) return;
  const std::string& name = model->get_ref<const std::string&>();
  if (name.find("FISHEYE") != std::string::npos || name.find("EQUIRECT") != std::string::npos) {
    fail(
        "{}: camera model {} is not supported; expected a perspective model such as OPENCV; "
        "undistort the images first",
        source.name(), name);
  }
}

void warn_of_distortion(const Json& root, const Source& source) {
  const bool any = std::any_of(kDistortion.begin(), kDistortion.end(), [&](const char* key) {
    const auto found = root.find(key);
    return found != root.end() && found->is_number() && found->get<double>() != 0;
  });
  if (any) {
    log_warning("{}: the distortion is ignored; the path uses the pinhole part of the lens",
                source.name());
  }
}

struct Frame {
  std::string name;
  Pose pose;
  Lens lens;
};

Trajectory read_file_of(const Source& source, const ReadOptions& options) {
  const Json& root = source.json();
  check_model(root, source);
  warn_of_distortion(root, source);
  ImageSize size = options.size;
  std::vector<Frame> frames;
  bool named = true;
  const Json& list = json_member(root, source.at("frame", 0), "frames");
  if (!list.is_array()) fail("{}: frames must be a list", source.name());
  for (size_t i = 0; i < list.size(); ++i) {
    const Where where = source.at("frame", static_cast<int64_t>(i));
    const Json& frame = list[i];
    const Pose pose = pose_from_matrix(
        json_matrix(json_member(frame, where, "transform_matrix"), where, "transform_matrix"),
        where);
    check_model(frame, source);
    const auto file_path = frame.find("file_path");
    named = named && file_path != frame.end() && file_path->is_string();
    frames.push_back({named ? file_path->get<std::string>() : "",
                      {kToOurWorld * pose.rotation * kFlip, kToOurWorld * pose.position},
                      lens_of(frame, root, options, size, where)});
  }
  // Exporters list the frames in any order; the file names are numbered.
  if (named) {
    std::stable_sort(frames.begin(), frames.end(),
                     [](const Frame& a, const Frame& b) { return natural_less(a.name, b.name); });
  }
  Trajectory path = empty_path(kNerfstudio, options);
  path.width = size.width;
  path.height = size.height;
  for (const Frame& frame : frames) {
    path.cameras.push_back({frame.pose, frame.lens});
  }
  return path;
}

Trajectory read(const Source& source, const ReadOptions& options) {
  if (const auto file = source.inside("transforms.json")) {
    return read_file_of(Source(*file), options);
  }
  return read_file_of(source, options);
}

Json lens_json(const Lens& lens, const ImageSize& size) {
  const Pinhole p = pixel_pinhole(lens, size, "nerfstudio");
  return {{"fl_x", p[0]}, {"fl_y", p[1]}, {"cx", p[2]}, {"cy", p[3]}};
}

void write(const fs::path& file, const Trajectory& path, const WriteOptions&) {
  const ImageSize size = image_size(path);
  Json root = lens_json(path.cameras.front().lens, size);
  root["camera_model"] = "OPENCV";
  root["w"] = size.width;
  root["h"] = size.height;
  Json frames = Json::array();
  const Mat3 to_their_world = kToOurWorld.transposed();
  for (size_t i = 0; i < path.cameras.size(); ++i) {
    const Mat3 r = to_their_world * path.cameras[i].pose.rotation * kFlip;
    const Vec3 t = to_their_world * path.cameras[i].pose.position;
    Json frame = path.cameras[i].lens == path.cameras.front().lens
                     ? Json::object()
                     : lens_json(path.cameras[i].lens, size);
    frame["file_path"] = fmt::format("frames/{:05}.png", i);
    frame["transform_matrix"] = {{r(0, 0), r(0, 1), r(0, 2), t.x},
                                 {r(1, 0), r(1, 1), r(1, 2), t.y},
                                 {r(2, 0), r(2, 1), r(2, 2), t.z},
                                 {0.0, 0.0, 0.0, 1.0}};
    frames.push_back(std::move(frame));
  }
  root["frames"] = std::move(frames);
  write_file(file, root.dump(1) + "\n");
}

}  // namespace

const Format kNerfstudio{"nerfstudio", "nerfstudio transforms.json", 16, false, recognises, read,
                         write};

}  // namespace loci::camera
