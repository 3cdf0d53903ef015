// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/npy.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "loci/base/error.h"
#include "loci/base/file.h"
#include "loci/io/tensors/mapped_file.h"
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

at::Tensor parse_npy(std::string_view file, const std::string& source) {
  const NpyHeader header = parse_npy_header(file, source);
  std::vector<int64_t> shape = header.shape;
  // An array in Fortran order is the transpose of one in C order.
  if (header.fortran_order) std::reverse(shape.begin(), shape.end());
  at::Tensor tensor = at::empty(shape, header.dtype);
  const std::string_view numbers = file.substr(header.offset);
  if (header.dtype == at::kBool) {
    // Any byte but 0 counts as true; in a tensor only 1 may.
    std::transform(numbers.begin(), numbers.end(), static_cast<char*>(tensor.mutable_data_ptr()),
                   [](char c) { return static_cast<char>(c != 0); });
  } else if (!numbers.empty()) {
    std::memcpy(tensor.mutable_data_ptr(), numbers.data(), numbers.size());
  }
  if (header.swapped) swap_byte_order(tensor);
  if (header.fortran_order) {
    std::vector<int64_t> reversed(shape.size());
    std::iota(reversed.rbegin(), reversed.rend(), 0);
    tensor = tensor.permute(reversed).contiguous();
  }
  return tensor;
}

}  // namespace

at::Tensor read_npy(const std::filesystem::path& path) {
  return parse_npy(map_file(path).view, path.string());
}

at::Tensor read_npy_bytes(std::string_view bytes, const std::string& source) {
  return parse_npy(bytes, source);
}

std::map<std::string, at::Tensor> read_npz(const std::filesystem::path& path) {
  constexpr std::string_view kSuffix = ".npy";
  const SharedBytes file = map_file(path);
  if (file.view.empty()) fail("{}: the file is empty", path.string());
  // An archive without entries starts with its directory's end.
  if (!file.view.starts_with("PK")) {
    fail("{}: this is not a .npz archive of numpy", path.string());
  }
  const ZipArchive archive(file, path.string());
  std::map<std::string, at::Tensor> arrays;
  for (const ZipEntry& entry : archive.entries()) {
    if (!entry.name.ends_with(kSuffix)) {
      fail("{}: the archive holds '{}', which is no .npy array", path.string(),
           printable(entry.name));
    }
    const std::string name = entry.name.substr(0, entry.name.size() - kSuffix.size());
    arrays[name] = parse_npy(archive.read_verified(entry).view,
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
    // The checksum stands before the numbers, so they are gone through twice.
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
