// SPDX-License-Identifier: Apache-2.0
// Changes to a safetensors file that is right, as lines of text: mutations of the lines reach what
// the tensors and their metadata mean, where mutations of the bytes would hardly get past their
// header.
#pragma once

#include <filesystem>
#include <string_view>

namespace loci::fuzz {

// Copies `from` to `to` with changes, one a line. Tensors and the values of the JSON text that is
// the only entry of the metadata are counted from 0, as often as need be from the start again.
//   meta 3 VALUE    the third value of the metadata becomes VALUE, JSON or plain text
//   key 3 NAME      the same value under another name
//   drop 2          without a tensor
//   name 2 NAME     under another name
//   shape 2 4 1 6   the same numbers, repeated or cut, in another shape of at most 4096
//   type 2 1        in another type
//   fill 2 nan      with one number everywhere
//   number 2 5 nan  with another number at one place
// Lines that say anything else are passed over.
void edit_safetensors(const std::filesystem::path& from, const std::filesystem::path& to,
                      std::string_view edits);

}  // namespace loci::fuzz
