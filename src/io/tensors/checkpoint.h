// SPDX-License-Identifier: Apache-2.0
// A model's tensors by name, whatever they are stored in.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/ATen.h>

#include "loci/io/tensors/tensor_info.h"

namespace loci::io {

// Opens, recognised by content:
//  - a safetensors file,
//  - a .pth or .pt file of torch.save (see PthFile for the names inside nested dictionaries),
//  - the index of a sharded checkpoint (*.safetensors.index.json), whose files stand beside it,
//  - a folder: <stem>.safetensors, else <stem>.safetensors.index.json. Without a stem the names
//    "diffusion_pytorch_model" and "model" are tried, then the only index, safetensors or
//    .pth/.pt file that the folder has.
// Opening reads headers only; tensors share memory maps, which live as long as any of them.
// Cheap to copy, safe to use from several threads.
class Checkpoint {
 public:
  static Checkpoint open(const std::filesystem::path& path, const std::string& stem = "");

  // In the order of the file; of a sharded checkpoint, file by file.
  const std::vector<TensorInfo>& tensors() const;
  std::vector<std::string> names() const;
  // Of a sharded checkpoint, that of its first file.
  const std::map<std::string, std::string>& metadata() const;

  bool has(std::string_view name) const;
  // A name that the checkpoint does not have is bad input; the message names the nearest one.
  const TensorInfo& info(std::string_view name) const;
  at::Tensor tensor(std::string_view name) const;

  // The file or index that was opened, for messages.
  const std::filesystem::path& path() const;

 private:
  struct Data;
  explicit Checkpoint(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  size_t index_of(std::string_view name) const;

  std::shared_ptr<const Data> data_;
};

}  // namespace loci::io
