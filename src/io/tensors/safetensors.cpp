// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/safetensors.h"

#include <bit>
#include <cstring>
#include <unordered_map>

#include "loci/base/error.h"
#include "loci/io/tensors/mapped_file.h"
#include "loci/io/tensors/safetensors_header.h"

namespace loci::io {

static_assert(std::endian::native == std::endian::little, "numbers in files are little-endian");

namespace {

// The limit of the reference implementation.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;

}  // namespace

struct SafetensorsFile::Data {
  std::string source;
  SharedBytes bytes;  // the data after the header
  std::vector<TensorInfo> tensors;
  std::vector<uint64_t> begins;
  Metadata metadata;
  std::unordered_map<std::string_view, size_t> index;  // views of the names in `tensors`
};

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  auto data = std::make_shared<Data>();
  data->source = path.string();
  const SharedBytes file = map_file(path);
  if (file.size() < 8) {
    fail("{}: {} bytes are too few for a safetensors file", data->source, file.size());
  }
  uint64_t length = 0;
  std::memcpy(&length, file.view.data(), 8);
  if (length > kMaxHeaderBytes) {
    fail("{}: a header of {} bytes exceeds the limit of {}; this is not a safetensors file",
         data->source, length, kMaxHeaderBytes);
  }
  if (length > file.size() - 8) {
    fail(
        "{}: the file ends within its header ({} bytes, the header alone has {}); copy or download "
        "it again",
        data->source, file.size(), length);
  }
  data->bytes = file.part(8 + length, file.size() - 8 - length);
  SafetensorsHeader header =
      parse_safetensors_header(file.view.substr(8, length), data->bytes.size(), data->source);
  data->metadata = std::move(header.metadata);
  data->tensors.reserve(header.entries.size());
  for (auto& entry : header.entries) {
    data->begins.push_back(entry.begin);
    data->tensors.push_back(std::move(entry.info));
  }
  for (size_t i = 0; i < data->tensors.size(); ++i) data->index[data->tensors[i].name] = i;
  return SafetensorsFile(std::move(data));
}

const std::vector<TensorInfo>& SafetensorsFile::tensors() const { return data_->tensors; }

const Metadata& SafetensorsFile::metadata() const { return data_->metadata; }

bool SafetensorsFile::has(std::string_view name) const { return data_->index.contains(name); }

size_t SafetensorsFile::index_of(std::string_view name) const {
  const auto found = data_->index.find(name);
  if (found == data_->index.end()) fail_missing_tensor(data_->source, name, data_->tensors);
  return found->second;
}

const TensorInfo& SafetensorsFile::info(std::string_view name) const {
  return data_->tensors[index_of(name)];
}

at::Tensor SafetensorsFile::tensor(std::string_view name) const {
  const size_t i = index_of(name);
  const TensorInfo& info = data_->tensors[i];
  return tensor_over(data_->bytes.part(data_->begins[i], info.bytes), info.dtype, info.shape,
                     data_->source);
}

}  // namespace loci::io
