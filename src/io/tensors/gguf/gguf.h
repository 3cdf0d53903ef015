// SPDX-License-Identifier: Apache-2.0
// GGUF files: a header with metadata and a table of tensors, then the data of the tensors, which
// may be quantized.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/ATen.h>

#include "loci/io/tensors/input_file.h"
#include "loci/io/tensors/tensor_info.h"

namespace loci::io {

// A file opened for reading. Opening reads only the header. Tensors are copies in memory. Later
// changes to the file do not affect them, and reading a tensor of a file that was modified after
// open() is bad input. Cheap to copy; thread-safe.
//
// Quantized tensors are converted to BF16 when they are read, by as many threads as libtorch uses.
// The engine's own INT8 and INT4 weights have one scale per output channel or per 64 inputs
// (kernels/linear/quantized_weight.h). The blocks of Q8_0 and Q4_0 have a scale per 32 inputs and
// therefore have no exact equivalent.
class GgufFile {
 public:
  static GgufFile open(const std::filesystem::path& path);

  // In the order of the header.
  const std::vector<TensorInfo>& tensors() const;
  const std::map<std::string, std::string>& metadata() const;
  const InputFile& file() const;

  bool has(std::string_view name) const;
  // An unknown name is bad input; the message suggests the nearest name.
  const TensorInfo& info(std::string_view name) const;
  at::Tensor tensor(std::string_view name) const;

 private:
  struct Data;
  explicit GgufFile(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  size_t index_of(std::string_view name) const;

  std::shared_ptr<const Data> data_;
};

}  // namespace loci::io
