// SPDX-License-Identifier: Apache-2.0
// RealEstate10K: a first line with an address, then one line per frame with time, normalised lens
// and world-to-camera matrix.
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/camera/formats/format.h"

namespace loci::camera {

namespace {

constexpr size_t kColumns = 19;
constexpr std::string_view kLayout =
    "the 19 columns 'time_us fx fy cx cy 0 0' and a 3x4 matrix of RealEstate10K";

// The first line names the video: an address in the data set, any text in other files.
bool has_title(const std::vector<Line>& lines) {
  return !lines.empty() && lines[0].fields.size() == 1 &&
         (lines[0].text.find("://") != std::string_view::npos ||
          (lines.size() > 1 && all_numbers(lines[1], kColumns)));
}

bool recognises(const Source& source) {
  const Line* first = source.first_line();
  return first != nullptr && (has_title(source.lines()) || all_numbers(*first, kColumns));
}

Trajectory read(const Source& source, const ReadOptions& options) {
  Trajectory path = empty_path(kRealEstate10k, options);
  std::vector<double> seconds;
  std::vector<int64_t> line_numbers;
  for (const Line& line : std::span(source.lines()).subspan(has_title(source.lines()) ? 1 : 0)) {
    const Where where = source.at("line", line.number);
    if (line.fields.size() != kColumns) {
      fail("{}: {} columns; expected {}", where.str(), line.fields.size(), kLayout);
    }
    const std::vector<double> v = numbers(line, 0, kColumns, source.name(), kLayout);
    seconds.push_back(v[0] * 1e-6);
    line_numbers.push_back(line.number);
    const Lens lens = lens_from_normalised({v[1], v[2], v[3], v[4]}, where);
    path.cameras.push_back({pose_from_matrix(std::span(v).subspan(7), where).inverse(), lens});
  }
  set_times(path, seconds, line_numbers, source.name(), options);
  return path;
}

void write(const std::filesystem::path& file, const Trajectory& path, const WriteOptions&) {
  // Readers ignore the content of the first line.
  std::string text = "loci://trajectory\n";
  const ImageSize size = image_size(path);
  for (size_t i = 0; i < path.cameras.size(); ++i) {
    const Pinhole n = normalised_pinhole(path.cameras[i].lens, size, "RealEstate10K");
    const Pose inverse = path.cameras[i].pose.inverse();
    const Mat3& r = inverse.rotation;
    const Vec3& t = inverse.position;
    const int64_t microseconds = std::llround(static_cast<double>(i) / path.fps * 1e6);
    text += fmt::format("{} {} {} {} {} 0 0 {} {} {} {} {} {} {} {} {} {} {} {}\n", microseconds,
                        n[0], n[1], n[2], n[3], r(0, 0), r(0, 1), r(0, 2), t.x, r(1, 0), r(1, 1),
                        r(1, 2), t.y, r(2, 0), r(2, 1), r(2, 2), t.z);
  }
  write_file(file, text);
}

}  // namespace

const Format kRealEstate10k{"re10k", "RealEstate10K text", 30, false, recognises, read, write};

}  // namespace loci::camera
