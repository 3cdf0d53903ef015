// SPDX-License-Identifier: Apache-2.0
// Where model folders are looked for.
#pragma once

#include <filesystem>
#include <vector>

namespace loci::app {

// $LOCI_MODELS if set, then models/ in the working directory and beside the program.
std::vector<std::filesystem::path> model_places();

// Folders in those places that hold config.json, and a place itself if it does; sorted within a
// place, none twice.
std::vector<std::filesystem::path> find_models();

}  // namespace loci::app
