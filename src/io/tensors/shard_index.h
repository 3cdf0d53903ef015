// SPDX-License-Identifier: Apache-2.0
// The index of a sharded checkpoint (*.safetensors.index.json), which maps tensors to files.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace loci::io {

struct ShardIndex {
  std::map<std::string, std::string> file_of;  // tensor name → file name in the same folder
  std::vector<std::string> files;              // unique and sorted
};

// Bad input unless `text` is a JSON object with a "weight_map" from unique names to plain file
// names without folders.
ShardIndex read_shard_index(const std::filesystem::path& path);

}  // namespace loci::io
