// SPDX-License-Identifier: Apache-2.0
// Ids that the server creates. Only valid ids become part of a path on disk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace loci::serve {

// `prefix`, an underscore and 26 random letters and digits (130 bits).
std::string new_id(std::string_view prefix);
bool is_id(std::string_view text, std::string_view prefix);

// Unix time in seconds and in microseconds.
int64_t unix_time();
int64_t unix_microseconds();

// Compares in a time that does not depend on where the two differ.
bool equal_secrets(std::string_view a, std::string_view b);

}  // namespace loci::serve
