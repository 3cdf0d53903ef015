// SPDX-License-Identifier: Apache-2.0
// Files of torch.save (.pth, .pt): a zip archive with a pickle and the data of the tensors. Also
// reads the weights of torch.jit.save.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include <ATen/ATen.h>

#include "loci/io/tensors/input_file.h"
#include "loci/io/tensors/tensor_info.h"

namespace loci::io {

// Reads only tensors. The pickle may refer to a fixed list of names (OrderedDict,
// torch's functions that rebuild tensors and parameters, storages, dtypes, Size, device). Any other
// name is bad input, and nothing is executed. The modules of a TorchScript program are read as
// dictionaries of their contents, so that its tensors have the names of its state_dict.
//
// Names. Keys of nested dictionaries and positions in lists are joined by dots:
// {"optimizer": {"state": {0: {"exp_avg": t}}}} becomes "optimizer.state.0.exp_avg". A single
// tensor is named "tensor". Values that are not tensors are ignored.
// Wrappers. If a dictionary contains no tensor itself but a dictionary with tensors under
// "state_dict", "model_state_dict", "model" or "module" (the first of these), only that dictionary
// is read. Thus the names of weights have no prefix, and the state of the optimizer is skipped.
//
// Tensors are copies in memory. Later changes to the file do not affect them, and reading a tensor
// of a file that was modified after open() is bad input. Views of one storage become separate
// tensors, unless the storage is compressed. All tensors are on the CPU.
class PthFile {
 public:
  // With `unwrap` false, wrappers are treated like other dictionaries.
  static PthFile open(const std::filesystem::path& path, bool unwrap = true);

  // In the order of the pickle.
  const std::vector<TensorInfo>& tensors() const;
  bool has(std::string_view name) const;
  // An unknown name is bad input; the message suggests the nearest name.
  const TensorInfo& info(std::string_view name) const;
  const InputFile& file() const;
  // The tensor has its saved strides.
  at::Tensor tensor(std::string_view name) const;

 private:
  struct Data;
  explicit PthFile(std::shared_ptr<Data> data) : data_(std::move(data)) {}
  size_t index_of(std::string_view name) const;

  std::shared_ptr<Data> data_;
};

}  // namespace loci::io
