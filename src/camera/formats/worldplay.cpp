// SPDX-License-Identifier: Apache-2.0
// HY-WorldPlay's JSON: {"0": {"extrinsic": 4x4, "K": 3x3}, …}, one entry per latent. Despite its
// name the extrinsic is camera-to-world; K is in pixels of an image of 2 cx by 2 cy.
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/camera/formats/format.h"

namespace loci::camera {

namespace {

bool recognises(const Source& source) {
  if (!source.is_json() || !source.json().is_object() || source.json().empty()) return false;
  const Json& entry = source.json().begin().value();
  return entry.is_object() && entry.contains("extrinsic");
}

Trajectory read(const Source& source, const ReadOptions& options) {
  const Json& root = source.json();
  Trajectory path = empty_path(kWorldPlay, options);
  std::array<double, 2> extent{double(path.width), double(path.height)};
  for (size_t i = 0; i < root.size(); ++i) {
    const Where where = source.at("entry", static_cast<int64_t>(i));
    const auto entry = root.find(std::to_string(i));
    if (entry == root.end()) {
      fail("{}: missing; {} entries must be numbered from 0 without gaps", where.str(),
           root.size());
    }
    const Pose pose = pose_from_matrix(
        json_matrix(json_member(*entry, where, "extrinsic"), where, "extrinsic"), where);
    const auto matrix = entry->find("K");
    if (matrix == entry->end()) {
      path.cameras.push_back({pose, lens_from_fov(options.fov_x)});
      continue;
    }
    const std::vector<double> k = json_matrix(*matrix, where, "K");
    if (k.size() != 9 || matrix->size() != 3) fail("{}: K must be a 3x3 matrix", where.str());
    const Pinhole pixels{k[0], k[4], k[2], k[5]};
    if (!(extent[0] > 0)) extent = implied_extent(pixels, where);
    path.cameras.push_back({pose, lens_from_pixels(pixels, extent, where)});
  }
  path.width = static_cast<int>(std::lround(extent[0]));
  path.height = static_cast<int>(std::lround(extent[1]));
  return path;
}

void write(const std::filesystem::path& file, const Trajectory& path, const WriteOptions&) {
  const ImageSize size = image_size(path);
  std::string text = "{";
  for (size_t i = 0; i < path.cameras.size(); ++i) {
    const Mat3& r = path.cameras[i].pose.rotation;
    const Vec3& t = path.cameras[i].pose.position;
    const Pinhole p = pixel_pinhole(path.cameras[i].lens, size, "HY-WorldPlay");
    const Json entry = {{"extrinsic",
                         {{r(0, 0), r(0, 1), r(0, 2), t.x},
                          {r(1, 0), r(1, 1), r(1, 2), t.y},
                          {r(2, 0), r(2, 1), r(2, 2), t.z},
                          {0.0, 0.0, 0.0, 1.0}}},
                        {"K", {{p[0], 0.0, p[2]}, {0.0, p[1], p[3]}, {0.0, 0.0, 1.0}}}};
    text += fmt::format("{}\n\"{}\": {}", i == 0 ? "" : ",", i, entry.dump());
  }
  write_file(file, text + "\n}\n");
}

}  // namespace

const Format kWorldPlay{"worldplay", "HY-WorldPlay JSON", 24, true, recognises, read, write};

}  // namespace loci::camera
