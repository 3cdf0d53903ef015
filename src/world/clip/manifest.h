// SPDX-License-Identifier: Apache-2.0
// manifest.json: what a folder of clips was made from, so that nothing else is mixed into it.
#pragma once

#include <filesystem>

#include "loci/base/config.h"
#include "loci/world/clip/clip.h"

namespace loci::world {

// Everything that decides what clip i of a seed shows; not the threads.
Json describe(const ClipOptions& options);

// Writes `wanted` as folder/manifest.json. One that is there must say the same under every key of
// `wanted`; otherwise bad input.
void keep_manifest(const std::filesystem::path& folder, const Json& wanted);

}  // namespace loci::world
