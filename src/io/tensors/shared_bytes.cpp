// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/shared_bytes.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "loci/base/error.h"

namespace loci::io {

std::shared_ptr<char[]> allocate_aligned(size_t size) {
  constexpr std::align_val_t kAlignment{64};
  return {static_cast<char*>(operator new[](size, kAlignment)),
          [](char* memory) { operator delete[](memory, kAlignment); }};
}

at::Tensor tensor_over(const SharedBytes& bytes, at::ScalarType dtype,
                       std::span<const int64_t> shape, std::span<const int64_t> strides,
                       std::string_view source) {
  const size_t element = c10::elementSize(dtype);
  const at::IntArrayRef sizes(shape.data(), shape.size());
  const at::IntArrayRef steps(strides.data(), strides.size());
  if (bytes.view.empty()) return at::empty_strided(sizes, steps, dtype);
  if (dtype == at::kBool &&
      std::any_of(bytes.view.begin(), bytes.view.end(), [](char c) { return (c & ~1) != 0; })) {
    fail("{}: a BOOL tensor holds bytes other than 0 and 1; the file is damaged", source);
  }
  char* data = const_cast<char*>(bytes.view.data());
  std::shared_ptr<const void> owner = bytes.owner;
  if (reinterpret_cast<uintptr_t>(data) % element != 0) {
    const auto copy = allocate_aligned(bytes.size());
    std::memcpy(copy.get(), data, bytes.size());
    data = copy.get();
    owner = copy;
  }
  return at::from_blob(
      data, sizes, steps, [owner](void*) {}, at::TensorOptions(dtype));
}

at::Tensor tensor_over(const SharedBytes& bytes, at::ScalarType dtype,
                       std::span<const int64_t> shape, std::string_view source) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<int64_t>(shape[i], 1);
  }
  return tensor_over(bytes, dtype, shape, strides, source);
}

}  // namespace loci::io
