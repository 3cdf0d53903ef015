// SPDX-License-Identifier: Apache-2.0
// Lookup of an enumeration's values by name.
#pragma once

#include <string_view>

#include "loci/base/choice.h"

namespace loci::world {

// The value with this name. An unknown name is bad input; `what` names the choice in the message.
template <typename Enum, size_t N>
Enum value_of(std::string_view what, std::string_view name, const std::string_view (&names)[N]) {
  return static_cast<Enum>(choice_index(what, name, names));
}

}  // namespace loci::world
