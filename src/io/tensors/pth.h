// SPDX-License-Identifier: Apache-2.0
// Files of torch.save (.pth, .pt): a zip archive with a pickle and the tensors' bytes beside it. And
// of torch.jit.save, of whose programs the weights are read.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include <ATen/ATen.h>

#include "loci/io/tensors/tensor_info.h"

namespace loci::io {

// Reads the tensors and nothing else. The pickle may name a fixed list of things (OrderedDict,
// torch's functions that rebuild tensors and parameters, storages, dtypes, Size, device); any other
// name is refused, and nothing is ever executed. Of a TorchScript program, modules count as
// dictionaries of what they hold, so that its tensors have the names of its state_dict.
//
// Names. Keys of nested dictionaries and positions in lists are joined by dots:
// {"optimizer": {"state": {0: {"exp_avg": t}}}} gives "optimizer.state.0.exp_avg". A file that is
// one tensor gives "tensor". Values that are no tensors are left out.
// Wrappers. While a dictionary holds no tensor itself but has a dictionary with tensors under
// "state_dict", "model_state_dict", "model" or "module" (the first of these), only that one is
// read: the weights of a training checkpoint appear under their own names, its optimizer does not.
//
// Storages that are stored uncompressed, as torch.save does, are mapped and shared, so views of one
// storage stay views. Tensors live on the CPU wherever they were saved.
class PthFile {
 public:
  // With `unwrap` false, wrappers count as any other dictionary.
  static PthFile open(const std::filesystem::path& path, bool unwrap = true);

  // In the order of the pickle.
  const std::vector<TensorInfo>& tensors() const;
  bool has(std::string_view name) const;
  // A name that the file does not have is bad input; the message names the nearest one.
  const TensorInfo& info(std::string_view name) const;
  // With the strides it was saved with.
  at::Tensor tensor(std::string_view name) const;

 private:
  struct Data;
  explicit PthFile(std::shared_ptr<Data> data) : data_(std::move(data)) {}
  size_t index_of(std::string_view name) const;

  std::shared_ptr<Data> data_;
};

}  // namespace loci::io
