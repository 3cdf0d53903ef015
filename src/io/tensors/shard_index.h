// SPDX-License-Identifier: Apache-2.0
// The index of a sharded checkpoint (*.safetensors.index.json): which file holds which tensor.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace loci::io {

struct ShardIndex {
  std::map<std::string, std::string> file_of;  // tensor name → file name beside the index
  std::vector<std::string> files;              // each once, sorted
};

// Bad input unless it is a JSON object with a "weight_map" from names, each given once, to plain
// file names: none with a folder or leading elsewhere.
ShardIndex read_shard_index(const std::filesystem::path& path);

}  // namespace loci::io
