// SPDX-License-Identifier: Apache-2.0
// safetensors files: the length of a JSON header in 8 bytes, the header, the data of the tensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "loci/io/tensors/input_file.h"
#include "loci/io/tensors/tensor_info.h"

namespace loci::io {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;
using Metadata = std::map<std::string, std::string>;

// A file opened for reading. Opening reads only the header. Tensors are copies in memory. Later
// changes to the file do not affect them, and reading a tensor of a file that was modified after
// open() is bad input. Cheap to copy; thread-safe.
class SafetensorsFile {
 public:
  static SafetensorsFile open(const std::filesystem::path& path);

  // In the order of the data.
  const std::vector<TensorInfo>& tensors() const;
  const Metadata& metadata() const;
  const InputFile& file() const;

  bool has(std::string_view name) const;
  // An unknown name is bad input; the message suggests the nearest name.
  const TensorInfo& info(std::string_view name) const;
  at::Tensor tensor(std::string_view name) const;
  // tensor(name).narrow(dim, start, length), of which only these elements are read.
  at::Tensor narrow(std::string_view name, int64_t dim, int64_t start, int64_t length) const;

 private:
  struct Data;
  explicit SafetensorsFile(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  size_t index_of(std::string_view name) const;

  std::shared_ptr<const Data> data_;
};

// Writes dense copies of the tensors one by one; `path` appears when the file is complete. Tensors
// with larger elements come first for alignment; otherwise their order is kept. Duplicate names,
// the name "__metadata__", text that is not UTF-8 and types that the format lacks are bad input.
void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                       const Metadata& metadata = {});

// Writes <stem>.safetensors to `folder`. If the tensors exceed `shard_bytes`, writes files
// <stem>-0000i-of-0000n.safetensors of at most that size (a larger tensor has its own file) and
// then <stem>.safetensors.index.json. Removes a conflicting single file or index of an earlier
// write. The folder must exist. For an atomic result, pass AtomicDirectory::temporary().
void write_sharded_safetensors(const std::filesystem::path& folder, const std::string& stem,
                               const NamedTensors& tensors, const Metadata& metadata,
                               uint64_t shard_bytes);

}  // namespace loci::io
