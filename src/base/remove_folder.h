// SPDX-License-Identifier: Apache-2.0
// Atomic removal of a folder.
#pragma once

#include <filesystem>

namespace loci {

// Renames the folder to a temporary name, flushes the name to disk, then deletes the folder. After a
// kill or a power loss, the folder is either complete or gone under its own name, and it is gone once
// the function has returned. The next process that writes to the parent folder
// removes the leftover (see AtomicFile).
void remove_folder(const std::filesystem::path& folder);

}  // namespace loci
