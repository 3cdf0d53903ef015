// SPDX-License-Identifier: Apache-2.0
// Interprets the names in a pickle of torch.save: storages, and tensors as views of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/ATen.h>

#include "loci/io/tensors/pickle.h"

namespace loci::io {

// A view of a storage. All elements are within the storage.
struct TorchTensor {
  std::string storage;  // key of the storage, e.g. "17"
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in elements
  uint64_t begin = 0;            // first byte within the storage
  uint64_t span = 0;             // bytes from the first to the last element; 0 if empty
  uint64_t bytes = 0;            // elements times element size
};

class TorchPickleHost : public PickleHost {
 public:
  // `storage_bytes` returns the size of the record of a storage; nullopt if the file has none. With
  // `script`, the classes of a TorchScript program are allowed and read as dictionaries of the
  // contents of their modules.
  using StorageBytes = std::function<std::optional<uint64_t>(const std::string& key)>;
  TorchPickleHost(std::string source, StorageBytes storage_bytes, bool script = false)
      : source_(std::move(source)), storage_bytes_(std::move(storage_bytes)), script_(script) {}

  bool allows(std::string_view global) const override;
  PickleNode* call(PickleArena& arena, std::string_view global,
                   const PickleNode& arguments) override;
  PickleNode* load(PickleArena& arena, const PickleNode& id) override;

  // The tensor of a node, or null if the node is not a tensor.
  const TorchTensor* tensor(const PickleNode& node) const;

 private:
  struct Storage {
    std::string key;
    std::optional<at::ScalarType> dtype;  // nullopt for an untyped storage
    uint64_t bytes = 0;
  };

  [[noreturn]] void malformed(std::string_view what) const;
  const PickleNode& argument(const PickleNode& arguments, size_t index) const;
  int64_t integer(const PickleNode& arguments, size_t index) const;
  std::vector<int64_t> integers(const PickleNode& arguments, size_t index) const;
  PickleNode* rebuild_tensor(PickleArena& arena, std::string_view global,
                             const PickleNode& arguments);

  std::string source_;
  StorageBytes storage_bytes_;
  bool script_;
  std::vector<Storage> storages_;
  std::vector<TorchTensor> tensors_;
};

}  // namespace loci::io
