// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/io/tensors/safetensors.h"
#include "loci/io/tensors/tensor_bytes.h"

namespace loci::io {

namespace fs = std::filesystem;

namespace {

// Keeps the header in the order of the data.
using OrderedJson = nlohmann::ordered_json;

// Alignment of the data, for vector loads.
constexpr size_t kAlignment = 64;

std::string dump(const OrderedJson& json, const fs::path& path) {
  try {
    return json.dump();
  } catch (const OrderedJson::exception&) {
    fail("cannot write {}: a tensor name or a metadata text is not UTF-8", path.string());
  }
}

void check_tensors(const fs::path& path, const NamedTensors& tensors) {
  std::unordered_set<std::string_view> names;
  for (const auto& [name, tensor] : tensors) {
    LOCI_CHECK(tensor.defined(), "tensor '{}' is undefined", name);
    if (name == "__metadata__" || !names.insert(name).second) {
      fail("cannot write {}: the tensor name '{}' {}", path.string(), printable(name),
           name == "__metadata__" ? "is reserved" : "is given twice");
    }
    if (tensor.layout() != at::kStrided || dtype_name(tensor.scalar_type()).empty()) {
      fail("cannot write {}: safetensors has no type for tensor '{}' ({})", path.string(),
           printable(name), c10::toString(tensor.scalar_type()));
    }
  }
}

// Removes a file of an earlier write that readers would prefer.
void remove_older(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) fail("cannot remove the older {}: {}", path.string(), error.message());
}

}  // namespace

void write_safetensors(const fs::path& path, const NamedTensors& tensors,
                       const Metadata& metadata) {
  check_tensors(path, tensors);
  std::vector<const std::pair<std::string, at::Tensor>*> order;
  for (const auto& named : tensors) order.push_back(&named);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->second.element_size() > b->second.element_size();
  });

  std::string header = "{";
  if (!metadata.empty()) header += "\"__metadata__\":" + dump(OrderedJson(metadata), path);
  uint64_t end = 0;
  for (const auto* named : order) {
    const auto& [name, tensor] = *named;
    const uint64_t begin = end;
    end += static_cast<uint64_t>(tensor.numel()) * tensor.element_size();
    const OrderedJson entry = {{"dtype", dtype_name(tensor.scalar_type())},
                               {"shape", tensor.sizes().vec()},
                               {"data_offsets", {begin, end}}};
    if (header.size() > 1) header += ",";
    header += dump(OrderedJson(name), path) + ":" + dump(entry, path);
  }
  header += "}";
  header.resize((header.size() + 8 + kAlignment - 1) / kAlignment * kAlignment - 8, ' ');

  AtomicFile file(path);
  const uint64_t length = header.size();
  file.write(&length, sizeof length);
  file.write(header);
  for (const auto* named : order) {
    for_each_piece(named->second, [&](std::string_view piece) { file.write(piece); });
  }
  file.commit();
}

void write_sharded_safetensors(const fs::path& folder, const std::string& stem,
                               const NamedTensors& tensors, const Metadata& metadata,
                               uint64_t shard_bytes) {
  const fs::path single = folder / (stem + ".safetensors");
  const fs::path index = folder / (stem + ".safetensors.index.json");
  check_tensors(index, tensors);
  std::vector<NamedTensors> shards(1);
  uint64_t total = 0;
  uint64_t filled = 0;
  for (const auto& named : tensors) {
    const uint64_t bytes =
        static_cast<uint64_t>(named.second.numel()) * named.second.element_size();
    if (filled > 0 && bytes > 0 && (filled >= shard_bytes || bytes > shard_bytes - filled)) {
      shards.emplace_back();
      filled = 0;
    }
    shards.back().push_back(named);
    filled += bytes;
    total += bytes;
  }
  if (shards.size() == 1) {
    write_safetensors(single, tensors, metadata);
    remove_older(index);
    return;
  }
  OrderedJson weight_map = OrderedJson::object();
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string name =
        fmt::format("{}-{:05}-of-{:05}.safetensors", stem, i + 1, shards.size());
    write_safetensors(folder / name, shards[i], metadata);
    for (const auto& named : shards[i]) weight_map[named.first] = name;
  }
  const OrderedJson content = {{"metadata", {{"total_size", total}}}, {"weight_map", weight_map}};
  write_file(index, content.dump(2) + "\n");
  remove_older(single);
}

}  // namespace loci::io
