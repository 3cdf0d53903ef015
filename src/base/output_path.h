// SPDX-License-Identifier: Apache-2.0
// Output paths: checks, folders, errors of writing, and what survives a power loss. The content of a
// file survives after a flush of the file, and the name of a file or folder after a flush of the folder
// that contains it. AtomicFile and AtomicDirectory (file.h) do both.
#pragma once

#include <filesystem>

namespace loci {

// "." for a plain name.
std::filesystem::path folder_of(const std::filesystem::path& path);

// Bad input if the path has no file name or its folder does not exist.
void require_output_folder(const std::filesystem::path& path);

// Reports a failed write. `error` is errno: a full disk is a machine error, no permission or an
// invalid name is bad input.
[[noreturn]] void fail_write(const std::filesystem::path& path, int error);

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
