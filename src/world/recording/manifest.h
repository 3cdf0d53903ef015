// SPDX-License-Identifier: Apache-2.0
// manifest.json: the settings that a folder was made with, so that results of other settings are
// not mixed into it.
#pragma once

#include <filesystem>

#include "loci/base/config.h"

namespace loci::world {

// Writes `wanted` as folder/manifest.json. If the file exists, it must have the same value for
// every key of `wanted`; otherwise bad input that names the key and both values.
void keep_manifest(const std::filesystem::path& folder, const Json& wanted);

}  // namespace loci::world
