// SPDX-License-Identifier: Apache-2.0
// Checks of output paths and errors of writing, shared by everything that writes files.
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

}  // namespace loci
