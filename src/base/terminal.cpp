// SPDX-License-Identifier: Apache-2.0
#include "loci/base/terminal.h"

#include <unistd.h>

#include <cstdlib>

#include <fmt/format.h>

namespace loci {

bool is_smart_terminal(int descriptor) {
  const char* terminal = std::getenv("TERM");
  return ::isatty(descriptor) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

bool wants_colour(int descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  return is_smart_terminal(descriptor) && (no_colour == nullptr || *no_colour == '\0');
}

std::string coloured(std::string_view text, Colour colour, bool enabled) {
  if (!enabled) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", static_cast<int>(colour), text);
}

}  // namespace loci
