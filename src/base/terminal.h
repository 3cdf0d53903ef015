// SPDX-License-Identifier: Apache-2.0
// Capabilities of a terminal.
#pragma once

#include <string>
#include <string_view>

namespace loci {

// Whether the descriptor is a terminal that supports control sequences (TERM is not "dumb").
bool is_smart_terminal(int descriptor);

// The same, and the environment variable NO_COLOR is not set.
bool wants_colour(int descriptor);

enum class Colour { kRed = 31, kGreen = 32, kYellow = 33 };

// `text` in `colour`, or unchanged if `enabled` is false.
std::string coloured(std::string_view text, Colour colour, bool enabled);

}  // namespace loci
