// SPDX-License-Identifier: Apache-2.0
// Finds model folders.
#pragma once

#include <filesystem>
#include <vector>

namespace loci::app {

// Folders that are searched, in order: $LOCI_MODELS if set, models/ in the working directory,
// models/ beside the program, and share/loci/models of the installation.
std::vector<std::filesystem::path> model_places();

// Folders with config.json or transformer/config.json: each of model_places() that is one itself,
// or its direct subfolders, sorted by name. No folder occurs twice.
std::vector<std::filesystem::path> find_models();

// `folder` if it exists, else the first folder of find_models() with its name, else `folder`.
std::filesystem::path find_model(const std::filesystem::path& folder);

// Help of the option --decoder.
inline const char* decoder_help() {
  return "small decoder for the frames instead of the autoencoder's own: taew2_2.safetensors or "
         "taew2_2.pth of TAEHV; faster, less detail";
}

}  // namespace loci::app
