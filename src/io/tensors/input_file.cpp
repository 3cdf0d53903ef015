// SPDX-License-Identifier: Apache-2.0
#include "loci/io/tensors/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "loci/base/error.h"
#include "loci/base/interrupt.h"
#include "loci/base/random.h"

namespace loci::io {

namespace {

int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

FileVersion version_of(const struct stat& status) {
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = static_cast<uint64_t>(status.st_size),
          .modified = nanoseconds(status.st_mtim),
          .changed = nanoseconds(status.st_ctim)};
}

}  // namespace

bool FileVersion::same_content(const FileVersion& other) const {
  return device == other.device && inode == other.inode && size == other.size &&
         modified == other.modified;
}

struct InputFile::Data {
  std::string name;
  int descriptor = -1;
  FileVersion version;

  Data() = default;
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;
  ~Data() {
    if (descriptor >= 0) ::close(descriptor);
  }

  struct stat status() const {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) fail("cannot read {}: {}", name, std::strerror(errno));
    return status;
  }
};

InputFile InputFile::open(const std::filesystem::path& path) {
  auto data = std::make_shared<Data>();
  data->name = path.string();
  // O_NONBLOCK, because opening a named pipe would wait for a writer.
  data->descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (data->descriptor < 0) fail("cannot read {}: {}", data->name, std::strerror(errno));
  const struct stat status = data->status();
  if (S_ISDIR(status.st_mode)) fail("cannot read {}: it is a folder, not a file", data->name);
  if (!S_ISREG(status.st_mode)) fail("cannot read {}: it is not a regular file", data->name);
  data->version = version_of(status);
  return InputFile(std::move(data));
}

const std::string& InputFile::name() const { return data_->name; }

const FileVersion& InputFile::version() const { return data_->version; }

void InputFile::require_unchanged() const {
  if (data_->version.same_content(version_of(data_->status()))) return;
  fail("{} was modified while it was being read; try again when it is complete", data_->name);
}

void InputFile::read(uint64_t offset, std::span<char> to) const {
  LOCI_CHECK(offset <= size() && to.size() <= size() - offset, "{}: reading {} bytes at {} of {}",
             data_->name, to.size(), offset, size());
  while (!to.empty()) {
    const ssize_t got =
        ::pread(data_->descriptor, to.data(), to.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("cannot read {}: {}", data_->name, std::strerror(errno));
    if (got == 0) break;  // truncated
    to = to.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  require_unchanged();
  if (!to.empty()) fail("cannot read {}: the last {} bytes are missing", data_->name, to.size());
}

SharedBytes InputFile::read(uint64_t offset, uint64_t size) const {
  if (size == 0) return {};
  const auto memory = allocate_aligned(size);
  read(offset, {memory.get(), size});
  return {{memory.get(), size}, memory};
}

SharedBytes InputFile::head(uint64_t size) const { return read(0, std::min(size, this->size())); }

std::string InputFile::hash() const {
  constexpr uint64_t kBlock = uint64_t{4} << 20;
  std::vector<char> block(std::min(kBlock, size()));
  uint64_t hash = size();
  for (uint64_t offset = 0; offset < size(); offset += kBlock) {
    check_interrupt();
    const std::span<char> part(block.data(), std::min(kBlock, size() - offset));
    read(offset, part);
    hash = hash_bytes(hash, part.data(), part.size());
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace loci::io
