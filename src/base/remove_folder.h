// SPDX-License-Identifier: Apache-2.0
// Removing a folder in whose place nobody may ever find a part of it.
#pragma once

#include <filesystem>

namespace loci {

// Out of sight first: under its own name the folder is whole or gone, whenever this is cut short.
// What is then left has the name of a temporary folder, which the next process that writes there
// removes.
void remove_folder(const std::filesystem::path& folder);

}  // namespace loci
