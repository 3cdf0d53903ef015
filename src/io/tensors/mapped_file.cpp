// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "loci/base/error.h"

namespace loci::io {

namespace {

struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
};

// The address ranges of mapped files. release_pages() would destroy data in other memory.
class LiveMappings {
 public:
  void add(const void* start, size_t size) {
    const std::lock_guard lock(mutex_);
    sizes_[reinterpret_cast<uintptr_t>(start)] = size;
  }
  void unmap(void* start, size_t size) {
    const std::lock_guard lock(mutex_);
    sizes_.erase(reinterpret_cast<uintptr_t>(start));
    ::munmap(start, size);
  }
  // Calls the function if [begin, end) is within a mapping, which cannot be unmapped during the
  // call.
  template <typename Call>
  void within(uintptr_t begin, uintptr_t end, const Call& call) {
    const std::lock_guard lock(mutex_);
    const auto after = sizes_.upper_bound(begin);
    if (after == sizes_.begin()) return;
    const auto& [start, size] = *std::prev(after);
    if (end <= start + size) call();
  }

 private:
  std::mutex mutex_;
  std::map<uintptr_t, size_t> sizes_;  // by first address
};

// Never destroyed, because tensors may exist until the program ends.
LiveMappings& live_mappings() {
  static auto* const mappings = new LiveMappings;
  return *mappings;
}

}  // namespace

SharedBytes map_file(const std::filesystem::path& path) {
  // O_NONBLOCK, because opening a named pipe would wait for a writer.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.value < 0) fail("cannot read {}: {}", path.string(), std::strerror(errno));
  struct stat status {};
  if (::fstat(file.value, &status) != 0) {
    fail("cannot read {}: {}", path.string(), std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) fail("cannot read {}: it is a folder, not a file", path.string());
  if (!S_ISREG(status.st_mode)) fail("cannot read {}: it is not a regular file", path.string());
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return {};
  // Writable and private, so that an in-place operation on a tensor copies the page instead of
  // crashing. No swap is reserved, since pages are rarely written.
  void* address =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.value, 0);
  if (address == MAP_FAILED) {
    fail_machine("cannot map {} into memory: {}", path.string(), std::strerror(errno));
  }
  live_mappings().add(address, size);
  const std::shared_ptr<const void> owner(address, [size](const void* start) {
    live_mappings().unmap(const_cast<void*>(start), size);
  });
  return {{static_cast<const char*>(address), size}, owner};
}

void release_pages(const at::Tensor& tensor) {
  if (!tensor.device().is_cpu() || !tensor.is_contiguous()) return;
  const auto begin = reinterpret_cast<uintptr_t>(tensor.const_data_ptr());
  live_mappings().within(begin, begin + tensor.nbytes(), [&] {
    const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    const uintptr_t first = (begin + page - 1) / page * page;
    const uintptr_t last = (begin + tensor.nbytes()) / page * page;
    if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  });
}

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
