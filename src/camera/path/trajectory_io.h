// SPDX-License-Identifier: Apache-2.0
// Reading and writing of camera paths in any supported format. Reading recognises the format by the
// content.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loci/camera/formats/format.h"
#include "loci/camera/trajectory.h"

namespace loci::camera {

// All formats, in the order in which they are tried for recognition.
std::span<const Format* const> formats();
// Finds a format by name. An unknown name is bad input; the message suggests the nearest one.
const Format& find_format(std::string_view name);
std::vector<std::string> format_names();

// The format of a file or folder. An unknown format is bad input; the message lists the formats.
const Format& recognise_format(const Source& source);

struct LoadedTrajectory {
  Trajectory trajectory;
  const Format* format;
};

// `input` is a file, a folder or a key string. All values are validated (see checks.h).
LoadedTrajectory load_trajectory(const std::string& input, const ReadOptions& options = {},
                                 const Format* format = nullptr);
Trajectory read_trajectory(const std::filesystem::path& path, const ReadOptions& options = {});
Trajectory read_key_string(std::string_view keys, const ReadOptions& options = {});

// The path must have one camera per video frame, or one per latent if the format requires that.
void write_trajectory(const std::filesystem::path& path, const Trajectory& trajectory,
                      const Format& format, const WriteOptions& options = {});

}  // namespace loci::camera
