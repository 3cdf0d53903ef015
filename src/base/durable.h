// SPDX-License-Identifier: Apache-2.0
// What survives a power loss: the content of a file after a flush of the file, and the name of a file
// or folder after a flush of the folder that contains it. AtomicFile and AtomicDirectory (file.h) do
// both.
#pragma once

#include <filesystem>

namespace loci {

// Flushes the content of a file, or the names of the entries of a folder, to disk.
void flush_to_disk(const std::filesystem::path& path);

// Creates a folder and its missing parents, and flushes their names to disk. A folder that exists is
// left unchanged. A path that cannot be created is bad input.
void make_folders(const std::filesystem::path& folder);

// Renames the folder to a temporary name, flushes the name to disk, then deletes the folder. After a
// kill or a power loss, the folder is either complete or gone under its own name, and it is gone once
// the function has returned. The next process that writes to the parent folder removes the leftover
// (see AtomicFile).
void remove_folder(const std::filesystem::path& folder);

}  // namespace loci
