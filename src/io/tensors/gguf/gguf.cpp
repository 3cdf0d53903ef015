// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/gguf/gguf.h"

#include <algorithm>
#include <unordered_map>

#include <ATen/Parallel.h>

#include "loci/base/jobs.h"
#include "loci/io/tensors/gguf/gguf_header.h"
#include "loci/io/tensors/shared_bytes.h"

namespace loci::io {

struct GgufFile::Data {
  explicit Data(InputFile opened) : file(std::move(opened)) {}

  struct Place {
    const GgufType* type;
    uint64_t begin;
  };
  InputFile file;
  std::vector<TensorInfo> tensors;
  std::vector<Place> places;  // of `tensors`
  std::map<std::string, std::string> metadata;
  std::unordered_map<std::string_view, size_t> index;  // views of the names in `tensors`
};

GgufFile GgufFile::open(const std::filesystem::path& path) {
  auto data = std::make_shared<Data>(InputFile::open(path));
  GgufHeader header = read_gguf_header(data->file);
  data->metadata = std::move(header.metadata);
  data->tensors.reserve(header.entries.size());
  for (GgufHeader::Entry& entry : header.entries) {
    data->places.push_back({entry.type, entry.begin});
    data->tensors.push_back(std::move(entry.info));
  }
  for (size_t i = 0; i < data->tensors.size(); ++i) data->index[data->tensors[i].name] = i;
  return GgufFile(std::move(data));
}

const std::vector<TensorInfo>& GgufFile::tensors() const { return data_->tensors; }

const std::map<std::string, std::string>& GgufFile::metadata() const { return data_->metadata; }

const InputFile& GgufFile::file() const { return data_->file; }

bool GgufFile::has(std::string_view name) const { return data_->index.contains(name); }

size_t GgufFile::index_of(std::string_view name) const {
  const auto found = data_->index.find(name);
  if (found == data_->index.end()) fail_missing_tensor(data_->file.name(), name, data_->tensors);
  return found->second;
}

const TensorInfo& GgufFile::info(std::string_view name) const {
  return data_->tensors[index_of(name)];
}

at::Tensor GgufFile::tensor(std::string_view name) const {
  const size_t i = index_of(name);
  const TensorInfo& info = data_->tensors[i];
  const auto [type, begin] = data_->places[i];
  if (type->expand == nullptr) {
    return tensor_over(data_->file.read(begin, info.bytes), info.dtype, info.shape,
                       data_->file.name());
  }
  at::Tensor result = at::empty(info.shape, at::kBFloat16);
  if (info.bytes == 0) return result;
  // Each job reads and converts a part of the blocks, so that the packed data need little memory.
  constexpr uint64_t kJobBlocks = 1 << 14;
  const uint64_t blocks = info.packed_bytes / type->bytes;
  auto* numbers = result.mutable_data_ptr<c10::BFloat16>();
  run_jobs((blocks + kJobBlocks - 1) / kJobBlocks, at::get_num_threads(), [&] {
    return [&, part = std::vector<char>()](size_t job) mutable {
      const uint64_t first = job * kJobBlocks;
      const uint64_t count = std::min(kJobBlocks, blocks - first);
      part.resize(count * type->bytes);
      data_->file.read(begin + first * type->bytes, part);
      type->expand(part.data(), count, numbers + first * type->elements);
    };
  });
  return result;
}

}  // namespace loci::io
