// SPDX-License-Identifier: Apache-2.0
// Edits of a valid safetensors file, described by lines of text. Mutations of the lines reach the
// code that interprets tensors and metadata. Mutations of the bytes would rarely get past the
// header.
#pragma once

#include <filesystem>
#include <string_view>

namespace loci::fuzz {

// Copies `from` to `to` with one edit per line. Indices of tensors, and of values in the JSON text
// that is the only entry of the metadata, start at 0 and wrap around.
//   meta 3 VALUE    sets value 3 of the metadata to VALUE, JSON or plain text
//   key 3 NAME      renames value 3 of the metadata
//   drop 2          removes tensor 2
//   name 2 NAME     renames tensor 2
//   shape 2 4 1 6   reshapes tensor 2, repeating or truncating its numbers; at most 4096 elements
//   type 2 1        changes the type of tensor 2
//   fill 2 nan      sets all numbers of tensor 2
//   number 2 5 nan  sets number 5 of tensor 2
// Other lines are ignored.
void edit_safetensors(const std::filesystem::path& from, const std::filesystem::path& to,
                      std::string_view edits);

}  // namespace loci::fuzz
