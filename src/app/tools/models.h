// SPDX-License-Identifier: Apache-2.0
// Where model folders are looked for.
#pragma once

#include <filesystem>
#include <vector>

namespace loci::app {

// $LOCI_MODELS if set, then models/ in the working directory, beside the program, and where it was
// installed.
std::vector<std::filesystem::path> model_places();

// Folders in those places that hold config.json or transformer/config.json, or a place itself if it
// does; sorted within a place, none twice.
std::vector<std::filesystem::path> find_models();

// The folder as given if it is there, else one of that name in those places, else as given.
std::filesystem::path find_model(const std::filesystem::path& folder);

}  // namespace loci::app
