// SPDX-License-Identifier: Apache-2.0
// safetensors files: 8 bytes with the length of a JSON header, the header, the tensors' bytes.
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

#include "loci/io/tensors/tensor_info.h"

namespace loci::io {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;
using Metadata = std::map<std::string, std::string>;

// A file opened for reading. Opening reads the header only; tensors share the file's memory map,
// which lives as long as this object, a copy of it, or any tensor made from it. Cheap to copy,
// safe to use from several threads.
class SafetensorsFile {
 public:
  static SafetensorsFile open(const std::filesystem::path& path);

  // In the order of their data.
  const std::vector<TensorInfo>& tensors() const;
  const Metadata& metadata() const;

  bool has(std::string_view name) const;
  // A name that the file does not have is bad input; the message names the nearest one.
  const TensorInfo& info(std::string_view name) const;
  at::Tensor tensor(std::string_view name) const;

 private:
  struct Data;
  explicit SafetensorsFile(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  size_t index_of(std::string_view name) const;

  std::shared_ptr<const Data> data_;
};

// Writes dense copies one tensor at a time; `path` appears when all is on disk. Tensors with large
// elements come first, in the order given, so that each is aligned. Equal names, the name
// "__metadata__", text that is not UTF-8, and types the format lacks are bad input.
void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                       const Metadata& metadata = {});

// Writes <stem>.safetensors into `folder`, or, when the tensors take more than `shard_bytes`,
// <stem>-0000i-of-0000n.safetensors of at most that size (a larger tensor has a file of its own)
// and then <stem>.safetensors.index.json. Removes the single file or index of an earlier write that
// would contradict it. The folder exists; for all or nothing, give AtomicDirectory::temporary().
void write_sharded_safetensors(const std::filesystem::path& folder, const std::string& stem,
                               const NamedTensors& tensors, const Metadata& metadata,
                               uint64_t shard_bytes);

}  // namespace loci::io
