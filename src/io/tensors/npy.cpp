// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/npy.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/io/tensors/input_file.h"
#include "loci/io/tensors/npy_header.h"
#include "loci/io/tensors/tensor_bytes.h"
#include "loci/io/tensors/tensor_info.h"
#include "loci/io/tensors/zip.h"
#include "loci/io/tensors/zip_writer.h"

namespace loci::io {

namespace {

// Reverses the bytes of each number; a complex number is two numbers.
void swap_byte_order(at::Tensor& tensor) {
  const size_t size = tensor.element_size() / (tensor.is_complex() ? 2 : 1);
  auto* bytes = static_cast<char*>(tensor.mutable_data_ptr());
  for (size_t i = 0; i < tensor.nbytes(); i += size) std::reverse(bytes + i, bytes + i + size);
}

// The numbers of an array in C order.
at::Tensor copied(const NpyHeader& header, const std::vector<int64_t>& shape,
                  std::string_view numbers) {
  at::Tensor tensor = at::empty(shape, header.dtype);
  if (header.dtype == at::kBool) {
    // NumPy treats every byte except 0 as true; a tensor allows only 0 and 1.
    std::transform(numbers.begin(), numbers.end(), static_cast<char*>(tensor.mutable_data_ptr()),
                   [](char c) { return static_cast<char>(c != 0); });
  } else if (!numbers.empty()) {
    std::memcpy(tensor.mutable_data_ptr(), numbers.data(), numbers.size());
  }
  if (header.swapped) swap_byte_order(tensor);
  return tensor;
}

}  // namespace

at::Tensor read_npy_bytes(std::string_view bytes, const std::string& source) {
  const NpyHeader header = parse_npy_header(bytes, bytes.size(), source);
  std::vector<int64_t> shape = header.shape;
  // An array in Fortran order is the transpose of one in C order.
  if (header.fortran_order) std::reverse(shape.begin(), shape.end());
  at::Tensor tensor = copied(header, shape, bytes.substr(header.offset));
  if (header.fortran_order) {
    std::vector<int64_t> reversed(shape.size());
    std::iota(reversed.rbegin(), reversed.rend(), 0);
    tensor = tensor.permute(reversed).contiguous();
  }
  return tensor;
}

at::Tensor read_npy(const std::filesystem::path& path) {
  return read_npy_bytes(InputFile::open(path).read_all().view, path.string());
}

at::Tensor read_npy_rows(const std::filesystem::path& path, int64_t first, int64_t count) {
  LOCI_CHECK(first >= 0 && count >= 0, "rows {} to {}", first, first + count);
  const InputFile file = InputFile::open(path);
  const NpyHeader header = parse_npy_header(file.head(kNpyHead).view, file.size(), path.string());
  std::vector<int64_t> shape = header.shape;
  if (shape.empty() || first + count > shape.front()) {
    fail("{}: [{}]; expected {} or more entries along the first axis", path.string(),
         fmt::join(shape, ", "), first + count);
  }
  if (header.fortran_order) {
    return read_npy_bytes(file.read_all().view, path.string()).narrow(0, first, count);
  }
  const uint64_t row =
      shape.front() == 0 ? 0 : (file.size() - header.offset) / static_cast<uint64_t>(shape.front());
  shape.front() = count;
  return copied(header, shape,
                file.read(header.offset + static_cast<uint64_t>(first) * row,
                          static_cast<uint64_t>(count) * row)
                    .view);
}

std::map<std::string, at::Tensor> read_npz(const std::filesystem::path& path) {
  constexpr std::string_view kSuffix = ".npy";
  const InputFile file = InputFile::open(path);
  if (file.size() == 0) fail("{}: the file is empty", path.string());
  // An archive without entries starts with the end record of its directory, also "PK".
  if (file.head(2).view != "PK") {
    fail("{}: this is not a .npz archive of numpy", path.string());
  }
  const ZipArchive archive = ZipArchive::over(file);
  std::map<std::string, at::Tensor> arrays;
  for (const ZipEntry& entry : archive.entries()) {
    if (!entry.name.ends_with(kSuffix)) {
      fail("{}: the archive contains '{}', which is not a .npy array", path.string(),
           printable(entry.name));
    }
    const std::string name = entry.name.substr(0, entry.name.size() - kSuffix.size());
    arrays[name] = read_npy_bytes(archive.read_verified(entry).view,
                                  fmt::format("{}: {}", path.string(), printable(entry.name)));
  }
  return arrays;
}

void write_npy(const std::filesystem::path& path, const at::Tensor& tensor) {
  const std::string header = make_npy_header(tensor, path.string());
  AtomicFile file(path);
  file.write(header);
  for_each_piece(tensor, [&](std::string_view piece) { file.write(piece); });
  file.commit();
}

void write_npz(const std::filesystem::path& path, const std::map<std::string, at::Tensor>& arrays) {
  AtomicFile file(path);
  ZipWriter archive(file);
  for (const auto& [name, tensor] : arrays) {
    const std::string header = make_npy_header(tensor, path.string() + ": " + printable(name));
    // The checksum precedes the data, so the data is read twice.
    const at::Tensor dense = tensor.detach().to(at::kCPU).contiguous();
    uLong sum = ::crc32_z(0, reinterpret_cast<const Bytef*>(header.data()), header.size());
    for_each_piece(dense, [&](std::string_view piece) {
      sum = ::crc32_z(sum, reinterpret_cast<const Bytef*>(piece.data()), piece.size());
    });
    archive.begin(name + ".npy", header.size() + dense.nbytes(), static_cast<uint32_t>(sum));
    file.write(header);
    for_each_piece(dense, [&](std::string_view piece) { file.write(piece); });
  }
  archive.finish();
  file.commit();
}

}  // namespace loci::io
