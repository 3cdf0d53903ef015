// SPDX-License-Identifier: Apache-2.0
// Camera paths from and to files of any supported format, recognised by content.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loci/camera/formats/format.h"
#include "loci/camera/trajectory.h"

namespace loci::camera {

// All formats, in the order in which recognition tries them.
std::span<const Format* const> formats();
// By name; an unknown one is bad input that names the nearest.
const Format& find_format(std::string_view name);
std::vector<std::string> format_names();

// The format of a file or folder; one that none recognises is bad input that lists them.
const Format& recognise_format(const Source& source);

struct LoadedTrajectory {
  Trajectory trajectory;
  const Format* format;
};

// `input` is a file, a folder or a key string. Everything is checked (see checks.h).
LoadedTrajectory load_trajectory(const std::string& input, const ReadOptions& options = {},
                                 const Format* format = nullptr);
Trajectory read_trajectory(const std::filesystem::path& path, const ReadOptions& options = {});
Trajectory read_key_string(std::string_view keys, const ReadOptions& options = {});

// The path has one pose per video frame, or one per latent if the format wants that.
void write_trajectory(const std::filesystem::path& path, const Trajectory& trajectory,
                      const Format& format, const WriteOptions& options = {});

}  // namespace loci::camera
