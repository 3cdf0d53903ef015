// SPDX-License-Identifier: Apache-2.0
#include "loci/base/choice.h"

#include "loci/base/text.h"

namespace loci {

std::string unknown_choice(std::string_view what, std::string_view name,
                           const std::vector<std::string>& choices) {
  std::string message = fmt::format("unknown {} '{}'", what, name);
  if (const std::string_view near = nearest(name, choices); !near.empty()) {
    message += fmt::format(" (did you mean '{}'?)", near);
  }
  if (!choices.empty()) message += fmt::format("; choose one of: {}", fmt::join(choices, ", "));
  return message;
}

}  // namespace loci
