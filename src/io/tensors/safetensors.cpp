// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/safetensors.h"

#include <bit>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "loci/base/error.h"
#include "loci/io/tensors/safetensors_header.h"

namespace loci::io {

static_assert(std::endian::native == std::endian::little, "numbers in files are little-endian");

namespace {

// The limit of the reference implementation.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;

}  // namespace

struct SafetensorsFile::Data {
  explicit Data(const std::filesystem::path& path) : file(InputFile::open(path)) {}

  InputFile file;
  uint64_t begin = 0;  // of the data after the header
  std::vector<TensorInfo> tensors;
  std::vector<uint64_t> begins;
  Metadata metadata;
  std::unordered_map<std::string_view, size_t> index;  // views of the names in `tensors`
};

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  auto data = std::make_shared<Data>(path);
  const InputFile& file = data->file;
  if (file.size() < 8) {
    fail("{}: {} bytes are too few for a safetensors file", file.name(), file.size());
  }
  uint64_t length = 0;
  std::memcpy(&length, file.head(8).view.data(), 8);
  if (length > kMaxHeaderBytes) {
    fail("{}: a header of {} bytes exceeds the limit of {}; this is not a safetensors file",
         file.name(), length, kMaxHeaderBytes);
  }
  if (length > file.size() - 8) {
    fail(
        "{}: the file ends within its header ({} bytes, the header alone has {}); copy or download "
        "it again",
        file.name(), file.size(), length);
  }
  data->begin = 8 + length;
  SafetensorsHeader header = parse_safetensors_header(file.read(8, length).view,
                                                      file.size() - data->begin, file.name());
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

const InputFile& SafetensorsFile::file() const { return data_->file; }

bool SafetensorsFile::has(std::string_view name) const { return data_->index.contains(name); }

size_t SafetensorsFile::index_of(std::string_view name) const {
  const auto found = data_->index.find(name);
  if (found == data_->index.end()) fail_missing_tensor(data_->file.name(), name, data_->tensors);
  return found->second;
}

const TensorInfo& SafetensorsFile::info(std::string_view name) const {
  return data_->tensors[index_of(name)];
}

at::Tensor SafetensorsFile::tensor(std::string_view name) const {
  const size_t i = index_of(name);
  const TensorInfo& info = data_->tensors[i];
  return tensor_over(data_->file.read(data_->begin + data_->begins[i], info.bytes), info.dtype,
                     info.shape, data_->file.name());
}

at::Tensor SafetensorsFile::narrow(std::string_view name, int64_t dim, int64_t start,
                                   int64_t length) const {
  const size_t i = index_of(name);
  const TensorInfo& info = data_->tensors[i];
  LOCI_CHECK(dim >= 0 && dim < std::ssize(info.shape) && start >= 0 && length >= 0 &&
                 start + length <= info.shape[static_cast<size_t>(dim)],
             "{} of {}: no range [{}, +{}) in dimension {}", name, data_->file.name(), start,
             length, dim);
  // The elements are one range of bytes for each index of the dimensions before `dim`.
  uint64_t ranges = 1, row = c10::elementSize(info.dtype);  // row: bytes per index of `dim`
  for (size_t d = 0; d < info.shape.size(); ++d) {
    const auto size = static_cast<uint64_t>(info.shape[d]);
    if (std::cmp_less(d, dim)) ranges *= size;
    if (std::cmp_greater(d, dim)) row *= size;
  }
  std::vector<int64_t> shape = info.shape;
  shape[static_cast<size_t>(dim)] = length;
  const uint64_t part = row * static_cast<uint64_t>(length);
  if (part * ranges == 0) return at::empty(shape, info.dtype);
  const auto memory = allocate_aligned(ranges * part);
  const uint64_t stride = row * static_cast<uint64_t>(info.shape[static_cast<size_t>(dim)]);
  const uint64_t first = data_->begin + data_->begins[i] + row * static_cast<uint64_t>(start);
  for (uint64_t r = 0; r < ranges; ++r) {
    data_->file.read(first + r * stride, {memory.get() + r * part, part});
  }
  return tensor_over({{memory.get(), ranges * part}, memory}, info.dtype, shape,
                     data_->file.name());
}

}  // namespace loci::io
