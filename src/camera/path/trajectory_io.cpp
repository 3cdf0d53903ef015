// SPDX-License-Identifier: Apache-2.0
#include "loci/camera/path/trajectory_io.h"

#include <algorithm>
#include <array>

#include "loci/base/choice.h"
#include "loci/base/error.h"
#include "loci/base/text.h"

namespace loci::camera {

namespace {

constexpr std::array<const Format*, 12> kFormats = {
    &kLociJson,   &kRealEstate10k, &kColmap,        &kTum,       &kKitti, &kNerfstudio,
    &kNumpyPoses, &kSanaNpz,       &kMatrixGameNpz, &kWorldPlay, &kMind,  &kKeyString,
};

}  // namespace

std::span<const Format* const> formats() { return kFormats; }

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format* format : kFormats) names.emplace_back(format->name);
  return names;
}

const Format& find_format(std::string_view name) {
  for (const Format* format : kFormats) {
    if (format->name == name) return *format;
  }
  fail_choice("format", name, format_names());
}

const Format& recognise_format(const Source& source) {
  for (const Format* format : kFormats) {
    if (format->recognises(source)) return *format;
  }
  fail("{}: not a camera path of a known format ({}); see docs/cameras.md, or name it with --from",
       source.name(), fmt::join(format_names(), ", "));
}

LoadedTrajectory load_trajectory(const std::string& input, const ReadOptions& options,
                                 const Format* format) {
  std::error_code ignored;
  const bool exists = std::filesystem::exists(input, ignored);
  const bool keys_wanted = format == nullptr || format == &kKeyString;
  if (!exists && keys_wanted && looks_like_key_string(input)) {
    return {read_key_string(input, options), &kKeyString};
  }
  const Source source(input);
  if (format == nullptr) format = &recognise_format(source);
  LoadedTrajectory loaded{format->read(source, options), format};
  check_trajectory(loaded.trajectory, source.name());
  return loaded;
}

Trajectory read_trajectory(const std::filesystem::path& path, const ReadOptions& options) {
  return load_trajectory(path.string(), options).trajectory;
}

Trajectory read_key_string(std::string_view keys, const ReadOptions& options) {
  Trajectory path = empty_path(kKeyString, options);
  path.cameras = with_lens(key_path(parse_key_string(keys, path.fps), options.keys, path.fps),
                           lens_from_fov(options.fov_x));
  return path;
}

void write_trajectory(const std::filesystem::path& path, const Trajectory& trajectory,
                      const Format& format, const WriteOptions& options) {
  check_trajectory(trajectory, path.string());
  LOCI_CHECK(!format.one_pose_per_latent || trajectory.frames_per_pose != 1,
             "{} takes one pose per latent", format.name);
  format.write(path, trajectory, options);
}

}  // namespace loci::camera
