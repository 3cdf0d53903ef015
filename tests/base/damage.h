// SPDX-License-Identifier: Apache-2.0
// Changes files in place, as another program or a failing disk would.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

namespace loci::testing {

// Replaces the second half of the file by zeros, in the same inode.
inline void overwrite_in_place(const std::filesystem::path& file) {
  const auto size = static_cast<std::streamsize>(std::filesystem::file_size(file));
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(size / 2);
  const std::string zeros(static_cast<size_t>(size - size / 2), '\0');
  stream.write(zeros.data(), static_cast<std::streamsize>(zeros.size()));
}

// Flips one bit in the middle of the file's second half.
inline void flip_bit(const std::filesystem::path& file) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  const auto place = static_cast<std::streamoff>(std::filesystem::file_size(file) / 4 * 3);
  stream.seekg(place);
  const int byte = stream.get();
  stream.seekp(place);
  stream.put(static_cast<char>(byte ^ 1));
}

// Calls `change(file)` for all weight files below the folder.
template <typename Change>
void change_weights(const std::filesystem::path& folder, Change change) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") change(entry.path());
  }
}

inline void truncate_to_nothing(const std::filesystem::path& file) {
  std::filesystem::resize_file(file, 0);
}

// Sets the modification time to an hour ago, so that a change within the tick of the file system's
// clock is visible.
inline void make_old(const std::filesystem::path& file) {
  std::filesystem::last_write_time(
      file, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
}

}  // namespace loci::testing
