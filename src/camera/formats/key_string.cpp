// SPDX-License-Identifier: Apache-2.0
// Key strings such as "w-12,left-8,wd-5,none-4", in a file of one or more lines.
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/camera/formats/format.h"
#include "loci/camera/path/trajectory_io.h"

namespace loci::camera {

namespace {

bool recognises(const Source& source) {
  const Line* first = source.first_line();
  return first != nullptr && looks_like_key_string(first->text);
}

Trajectory read(const Source& source, const ReadOptions& options) {
  // Lines are joined by commas. A comma at the end of a line is optional.
  std::string keys;
  for (const Line& line : source.lines()) {
    if (!keys.empty() && keys.back() != ',') keys += ',';
    keys += line.text;
  }
  if (keys.ends_with(',')) keys.pop_back();
  try {
    return read_key_string(keys, options);
  } catch (const Error& error) {
    fail("{}: {}", source.name(), error.what());
  }
}

void write(const std::filesystem::path& file, const Trajectory& path, const WriteOptions& options) {
  write_file(
      file, format_key_string(keys_of_path(poses_of(path.cameras), options.keys, path.fps)) + "\n");
}

}  // namespace

const Format kKeyString{"keys", "key string", 16, false, recognises, read, write};

}  // namespace loci::camera
