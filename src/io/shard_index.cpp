// SPDX-License-Identifier: Apache-2.0
#include "loci/io/shard_index.h"

#include <set>

#include <nlohmann/json.hpp>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/io/tensor_info.h"

namespace loci::io {

namespace {

using Json = nlohmann::json;

// Room for a hundred thousand tensors.
constexpr uint64_t kMaxBytes = uint64_t{16} << 20;
constexpr int kMaxDepth = 4;

// Refuses an object that has a key twice, of which the parser would keep only the last.
Json parse_unique(std::string_view text, const std::string& source) {
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMaxDepth) fail("{}: nested more than {} deep; not an index", source, kMaxDepth);
    if (event == Json::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == Json::parse_event_t::key) {
      if (!keys.back().insert(parsed.get<std::string>()).second) {
        fail("{}: the name '{}' occurs twice", source, printable(parsed.get<std::string>()));
      }
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::parse_error& error) {
    fail("{}: not valid JSON at byte {}; the index is damaged", source, error.byte);
  } catch (const Json::exception&) {
    fail("{}: not valid JSON; the index is damaged", source);
  }
}

bool is_plain_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

}  // namespace

ShardIndex read_shard_index(const std::filesystem::path& path) {
  const std::string source = path.string();
  const Json json = parse_unique(read_file(path, kMaxBytes), source);
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object()) {
    fail("{}: an index needs an object \"weight_map\" from tensor names to files", source);
  }
  ShardIndex index;
  std::set<std::string> files;
  for (const auto& [name, file] : json["weight_map"].items()) {
    if (!file.is_string()) fail("{}: the file of '{}' is no text", source, printable(name));
    const auto text = file.get<std::string>();
    if (!is_plain_file_name(text)) {
      fail("{}: '{}' is in '{}', which is no plain file name; files stand beside their index",
           source, printable(name), printable(text));
    }
    index.file_of[name] = text;
    files.insert(text);
  }
  index.files.assign(files.begin(), files.end());
  return index;
}

}  // namespace loci::io
