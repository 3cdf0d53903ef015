// SPDX-License-Identifier: Apache-2.0
// Names that the server gives out. Only they, checked letter by letter, become part of a path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace loci::serve {

// `prefix`, '_' and 26 letters and digits: 130 bits that nobody can guess.
std::string new_id(std::string_view prefix);
bool is_id(std::string_view text, std::string_view prefix);

// Seconds since 1970.
int64_t unix_time();

// Equal or not, in a time that does not depend on where they differ.
bool equal_secrets(std::string_view a, std::string_view b);

}  // namespace loci::serve
