// SPDX-License-Identifier: Apache-2.0
// What the terminal behind a descriptor can show.
#pragma once

#include <string>
#include <string_view>

namespace loci {

// Whether it is a terminal that obeys control sequences (TERM is not "dumb").
bool is_smart_terminal(int descriptor);

// The same, and the user did not ask for plain text by setting NO_COLOR.
bool wants_colour(int descriptor);

enum class Colour { kRed = 31, kGreen = 32, kYellow = 33 };

// `text` in that colour, or as it is when `enabled` is false.
std::string coloured(std::string_view text, Colour colour, bool enabled);

}  // namespace loci
