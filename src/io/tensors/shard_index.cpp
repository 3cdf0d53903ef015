// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/shard_index.h"

#include <set>

#include "loci/base/config.h"
#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/io/tensors/tensor_info.h"

namespace loci::io {

namespace {

// Enough for a hundred thousand tensors.
constexpr uint64_t kMaxBytes = uint64_t{16} << 20;

bool is_plain_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

}  // namespace

ShardIndex read_shard_index(const std::filesystem::path& path) {
  const std::string source = path.string();
  const Json json = parse_json(read_file(path, kMaxBytes), source);
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object()) {
    fail("{}: the index has no object \"weight_map\" from tensor names to files", source);
  }
  ShardIndex index;
  std::set<std::string> files;
  for (const auto& [name, file] : json["weight_map"].items()) {
    if (!file.is_string()) fail("{}: the file of '{}' is not a string", source, printable(name));
    const auto text = file.get<std::string>();
    if (!is_plain_file_name(text)) {
      fail(
          "{}: '{}' is in '{}', which is not a plain file name; the files must be in the folder of "
          "the index",
          source, printable(name), printable(text));
    }
    index.file_of[name] = text;
    files.insert(text);
  }
  index.files.assign(files.begin(), files.end());
  return index;
}

}  // namespace loci::io
