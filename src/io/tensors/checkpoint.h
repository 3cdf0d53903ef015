// SPDX-License-Identifier: Apache-2.0
// The tensors of a model by name, independent of the file format.
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

// Opens (the content determines the format):
//  - a safetensors file,
//  - a GGUF file, whose quantized tensors become BF16 (gguf.h),
//  - a .pth or .pt file of torch.save (see PthFile for the names inside nested dictionaries),
//  - the index of a sharded checkpoint (*.safetensors.index.json) in the folder of its files,
//  - a folder: <stem>.safetensors, else <stem>.safetensors.index.json. Without a stem the names
//    "diffusion_pytorch_model" and "model" are tried, then the only index, safetensors,
//    GGUF or .pth/.pt file in the folder.
// Opening reads only headers. Tensors are copies in memory, which later changes to the files do not
// affect. Reading a tensor of a file that was modified after open() is bad input, so all tensors
// belong to one version of the files. Cheap to copy; thread-safe.
class Checkpoint {
 public:
  static Checkpoint open(const std::filesystem::path& path, const std::string& stem = "");

  // In file order; for a sharded checkpoint, file by file.
  const std::vector<TensorInfo>& tensors() const;
  std::vector<std::string> names() const;
  // For a sharded checkpoint, the metadata of its first file. Of safetensors and GGUF files only.
  const std::map<std::string, std::string>& metadata() const;

  bool has(std::string_view name) const;
  // An unknown name is bad input; the message suggests the nearest name.
  const TensorInfo& info(std::string_view name) const;
  at::Tensor tensor(std::string_view name) const;
  // Shape and type of the tensor on the meta device, without reading its data.
  at::Tensor meta(std::string_view name) const;

  // Whether it is a GGUF file. These may store a tensor with fewer dimensions than its program
  // uses.
  bool is_gguf() const;
  // The opened file or index, for messages.
  const std::filesystem::path& path() const;
  // The weight files, in the order of tensors().
  const std::vector<InputFile>& files() const;

 private:
  struct Data;
  explicit Checkpoint(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  size_t index_of(std::string_view name) const;

  std::shared_ptr<const Data> data_;
};

}  // namespace loci::io
